"""What the page of action recognition says of its data and of how they were made."""

INTRODUCTION = (
    "The paper's videos, KTH and Weizmann, are not to be had. Two sets of recorded skeletons stand "
    "in for them: MSR Action3D for KTH, UTD-MHAD for Weizmann. The paper's numbers, which stand in "
    "a table of their own, are of other data with other classes: they tell which methods did well "
    "there, and no number of ours is to be compared with them.",
    "Each method learns a metric from the training part and 3-NN with the training part decides on "
    "the test part. Parameters are chosen by the error on a validation part, which is a part of "
    "the training part; with the chosen ones the method learns again from all of it. Errors are in "
    "percent, means over runs with the standard deviation over runs in brackets.",
    "All methods of a run have the same parts, divided by one number so that the training part has "
    "unit mean squared norm around its mean, and those that learn from triplets have the same "
    "triplets: each training sample with its 3 nearest of its class and its 3 nearest of others.",
)
NOTES = {
    "msr_action3d": "Stands in for KTH: 566 sequences of skeletons, 20 actions by 10 people. In "
    "each run 6 people drawn at random are the training part, of which 2 are the validation part, "
    "and the other 4 are the test part (the paper: 16 and 9 of 25). A sequence becomes a histogram "
    "as in the paper: local descriptors, a codebook by k-means, words merged by the agglomerative "
    "information bottleneck to 500 bins. Descriptors are trajectories of two arms, two legs and "
    "the trunk over 5, 9 and 17 frames, in body sizes, of which the 15 % that move most are kept; "
    "the codebook has up to 4,000 words, 800 for each of the five and at most one for every three "
    "trajectories, which makes about 2,800. Features are square roots of the shares of the bins. "
    "Codebook and bottleneck learn from the people who neither validate nor are tested on: "
    "with the bottleneck, which uses labels, learned from all 6, the error on "
    "validation parts would be 6 % where it is 16 %, and choices by it would be worth little. "
    "Lengths, weight of movements and share of trajectories were chosen by the 3-NN error on the "
    "validation parts of the first four runs; some of those people are tested on in other runs.",
    "utd_mhad": "Stands in for Weizmann: 861 sequences, 27 actions by 8 people, 90 features of "
    "skeletons. 70 % drawn at random are the training part, one fifth of them the validation part, "
    "and 30 % the test part; sequences of a person may be in all parts. The features are in "
    "different units, so they are divided by their standard deviations over the training part: "
    "on validation parts that has 22 % of errors with 3-NN, without it there are 40 %.",
}
BOTTLENECK = (
    "Merging words loses information about the class, and the bottleneck merges the pair of words "
    "that loses least, until few bins are left. On the 6,224 words of Reuters R8 (5,485 documents "
    "to learn from, 2,189 to test on, 8 classes): what is left of the information, and the error "
    "of 3-NN on square roots of shares, beside bins of words drawn at random, and beside the most "
    "frequent words, for which all others count as one more bin of the information."
)
PAPER = (
    "Errors and times that the paper reports, of KTH and Weizmann. These are other data, on "
    "another machine."
)
