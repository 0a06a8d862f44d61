module librl

go 1.19
