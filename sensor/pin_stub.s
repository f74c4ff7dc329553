// Functions without a body are accepted in a package that has an assembly file.
