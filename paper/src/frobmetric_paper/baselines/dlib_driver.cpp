// dlib's vector_normalizer_frobmetric on triplets from files.
//
//   dlib_driver FOLDER n_samples n_features n_triplets C eps
//
// Reads X.npy (float64) and triplets.npy (int64: anchor, near, far) of the folder; writes L.npy and
// detail.json. Only train() is timed: reading files and copying points into dlib's samples are not.
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

#include <dlib/matrix.h>
#include <dlib/revision.h>
#include <dlib/statistics.h>

using Point = dlib::matrix<double, 0, 1>;
using Sample = dlib::frobmetric_training_sample<Point>;

// The numbers of an npy file of version 1.0, behind its header.
template <typename T>
std::vector<T> read_npy(const std::string& path, std::size_t size) {
    std::ifstream file(path, std::ios::binary);
    char head[10];
    file.read(head, 10);
    const auto* bytes = reinterpret_cast<unsigned char*>(head);
    file.seekg(10 + bytes[8] + 256 * bytes[9]);
    std::vector<T> values(size);
    file.read(reinterpret_cast<char*>(values.data()), size * sizeof(T));
    if (!file) throw std::runtime_error("cannot read " + path);
    return values;
}

void write_npy(const std::string& path, const dlib::matrix<double>& A) {
    std::ostringstream text;
    text << "{'descr': '<f8', 'fortran_order': False, 'shape': (" << A.nr() << ", " << A.nc()
         << "), }";
    std::string head = text.str();
    head.resize((10 + head.size()) / 64 * 64 + 64 - 10, ' ');
    head.back() = '\n';
    const char size[2] = {char(head.size() % 256), char(head.size() / 256)};
    std::ofstream file(path, std::ios::binary);
    file.write("\x93NUMPY\x01\x00", 8).write(size, 2).write(head.data(), head.size());
    for (long i = 0; i < A.nr(); ++i)
        for (long j = 0; j < A.nc(); ++j)
            file.write(reinterpret_cast<const char*>(&A(i, j)), sizeof(double));
}

// Rows first..last of one anchor as one sample if they are every near with every far, which is how
// dlib shares their work; otherwise as one sample each.
void add_samples(const std::vector<Point>& X, const std::vector<long>& rows, std::size_t first,
                 std::size_t last, std::vector<Sample>& samples) {
    std::set<long> near, far;
    std::set<std::pair<long, long>> both;
    for (std::size_t r = first; r < last; ++r) {
        near.insert(rows[3 * r + 1]);
        far.insert(rows[3 * r + 2]);
        both.insert({rows[3 * r + 1], rows[3 * r + 2]});
    }
    if (last - first > 1 && (both.size() != last - first || both.size() != near.size() * far.size())) {
        for (std::size_t r = first; r < last; ++r) add_samples(X, rows, r, r + 1, samples);
        return;
    }
    Sample sample;
    sample.anchor_vect = X[rows[3 * first]];
    for (long i : near) sample.near_vects.push_back(X[i]);
    for (long i : far) sample.far_vects.push_back(X[i]);
    samples.push_back(sample);
}

int main(int, char** argument) {
    const std::string folder = std::string(argument[1]) + "/";
    const std::size_t n = std::stoul(argument[2]), d = std::stoul(argument[3]);
    const std::size_t m = std::stoul(argument[4]);
    const auto values = read_npy<double>(folder + "X.npy", n * d);
    const auto rows = read_npy<long>(folder + "triplets.npy", 3 * m);
    std::vector<Point> X;
    for (std::size_t i = 0; i < n; ++i) X.push_back(dlib::mat(&values[i * d], d, 1));
    std::vector<Sample> samples;
    for (std::size_t first = 0, last; first < m; first = last) {
        for (last = first + 1; last < m && rows[3 * last] == rows[3 * first];) ++last;
        add_samples(X, rows, first, last, samples);
    }
    dlib::vector_normalizer_frobmetric<Point> metric;
    metric.set_c(std::stod(argument[5]));
    metric.set_epsilon(std::stod(argument[6]));
    const auto began = std::chrono::steady_clock::now();
    metric.train(samples);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    write_npy(folder + "L.npy", dlib::trans(metric.transform()));
    std::ofstream(folder + "detail.json")
        << "{\"seconds\": " << spent.count() << ", \"samples\": " << samples.size()
        << ", \"versions\": {\"dlib\": \"" << DLIB_MAJOR_VERSION << "." << DLIB_MINOR_VERSION << "\"}}";
}
