"""Maximum variance unfolding, beside Isomap, LLE and CSDP."""
