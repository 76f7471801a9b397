"""A C file of 20,000 lines and more than 6 MB, some lines of which are long."""
FUNCTIONS = 2000
for n in range(FUNCTIONS):
    print(f"static int f{n}(int a) {{\n    int out = a;\n    if (a > {n} && a < 100000)\n        out = a - {n};\n    else\n        out = 0;\n    // {n}: {'long ' * 560}\n    return out;\n}}\n")
print("int main(int argc, char **argv) {\n    (void) argv;\n    int sum = 10 / (argc - 3);\n    sum = f0(argc);")
print(f"    return f{FUNCTIONS - 1}(sum % 10);\n}}")
