"""A large workspace: the fetched programs of others, and around them generated libraries that call each other and share a header."""
import pathlib, shutil

# Lines of one function, and functions of one file: each file has about a thousand lines.
PER_FILE = 75
FILES = 10

COMMON = """#ifndef COMMON_H
#define COMMON_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { int32_t used, size; uint8_t data[64]; } buffer_t;
enum status { OK, FULL, EMPTY };
#define LIMIT 1000
#define CLAMP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

static inline int32_t bounded(int32_t x) {
    return CLAMP(x, -LIMIT, LIMIT);
}

static inline enum status put(buffer_t *b, uint8_t byte) {
    if (b->used < 0 || b->used >= 64)
        return FULL;
    b->data[b->used++] = byte;
    return OK;
}
#endif
"""


def function(library, file, number, libraries):
    name = f"lib{library}_f{file}_{number}"
    if number % 5 == 0:
        # Across files and libraries, never back.
        if file + 1 < FILES:
            call = f"lib{library}_f{file + 1}_{number}(x)"
        elif library + 1 < libraries:
            call = f"lib{library + 1}_f0_{number}(x)"
        else:
            call = "x"
    else:
        call = f"lib{library}_f{file}_{number - 1}(x)"
    return f"""int32_t {name}(int32_t x)
{{
    buffer_t b = {{ 0, 64, {{ 0 }} }};
    int32_t sum = 0;
    for (int32_t i = 0; i < {5 + number % 7}; i++) {{
        if (put(&b, (uint8_t)(x + i)) != OK)
            break;
        sum += b.data[i] % {3 + number % 11};
    }}
    if (x > {number} && x < LIMIT)
        sum += 100000 / x;
    return bounded(sum) + {call} % {7 + library % 13};
}}
"""


def generate(folder, lines):
    """Writes libraries of about so many lines. Returns how many lines they have."""
    libraries = max(1, round(lines / (FILES * PER_FILE * 13)))
    (folder / "include").mkdir(parents=True, exist_ok=True)
    (folder / "include/common.h").write_text(COMMON)
    entries, total = [], 0
    for library in range(libraries):
        own = folder / f"lib{library}"
        own.mkdir(exist_ok=True)
        names = [f"lib{library}_f{file}_{n}" for file in range(FILES) for n in range(PER_FILE)]
        own.joinpath(f"lib{library}.h").write_text("".join(f"int32_t {name}(int32_t x);\n" for name in names))
        total += len(names)
        for file in range(FILES):
            includes = f'#include "common.h"\n#include "lib{library}.h"\n'
            if library + 1 < libraries:
                includes += f'#include "../lib{library + 1}/lib{library + 1}.h"\n'
            text = includes + "\n" + "\n".join(function(library, file, n, libraries) for n in range(PER_FILE))
            own.joinpath(f"f{file}.c").write_text(text)
            total += text.count("\n")
    (folder / "compile_flags.txt").write_text("-Iinclude\n")
    return total


def copy(corpus, folder):
    """Copies the C files of the fetched programs. Returns how many lines they have."""
    total = 0
    for path in sorted(corpus.rglob("*.[ch]")):
        if any(part.startswith(".") or part.startswith("git-") for part in path.relative_to(corpus).parts) or not path.is_file():
            continue
        to = folder / path.relative_to(corpus)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
        total += to.read_bytes().count(b"\n")
    return total


def make(folder, corpus, lines):
    """A workspace of about so many lines at least: the corpus, and generated libraries. Returns the lines of both."""
    folder = pathlib.Path(folder)
    copied = copy(pathlib.Path(corpus), folder / "corpus") if corpus else 0
    generated = generate(folder / "generated", max(lines - copied, lines // 4))
    return copied, generated
