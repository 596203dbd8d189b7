"""Files and folders on this machine, or on a store such as S3 that a URL names."""
