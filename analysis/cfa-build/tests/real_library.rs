//! What `models/libc.model` says of results, asked of the C library of this machine.

use std::{fs, process::Command};

use proofline_cfa::Conversion;

/// Each line is what a model says; the program ends with the number of the line that does not hold.
const PROGRAM: &str = r##"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#define HOLDS(what) do { if (!(what)) return __LINE__; } while (0)
int main(int argc, char **argv) {
    /* main */
    HOLDS(argc >= 0 && !argv[argc]);
    for (int i = 0; i < argc; i++) HOLDS(argv[i] && strlen(argv[i]) < 1000);
    /* read, write, pread */
    int ends[2], n, a = 0, b = 0;
    char buffer[64];
    HOLDS(pipe(ends) == 0);
    HOLDS((n = write(ends[1], "0123456789", 10)) >= -1 && n <= 10);
    HOLDS((n = read(ends[0], buffer, 4)) == 4);
    HOLDS((n = read(ends[0], buffer, 60)) == 6);
    HOLDS(read(-1, buffer, 4) == -1 && write(-1, buffer, 4) == -1 && pread(ends[0], buffer, 4, 0) == -1);
    HOLDS((n = readlink("/proc/self/exe", buffer, 3)) == 3 && readlink("/no such", buffer, 3) == -1);
    /* fread, fwrite */
    FILE *file = tmpfile();
    HOLDS(file && fwrite("abcdef", 2, 3, file) == 3);
    rewind(file);
    HOLDS(fread(buffer, 4, 10, file) == 1);
    rewind(file);
    /* getline, getdelim */
    char *line = 0;
    size_t size = 0;
    HOLDS(getline(&line, &size, file) == 6 && line);
    HOLDS(getline(&line, &size, file) == -1);
    rewind(file);
    HOLDS(getdelim(&line, &size, 'c', file) == 3 && line);
    /* scanf */
    HOLDS(sscanf("1 2 3", "%d %*d %d%n", &a, &b, &n) == 2 && sscanf("", "%d", &a) == -1 && sscanf("x", "%d", &a) == 0);
    HOLDS(swscanf(L"1 2", L"%d %d", &a, &b) == 2);
    /* time */
    struct timespec t = {0, 2000000000};
    struct timeval v;
    HOLDS(clock_gettime(77, &t) == -1 && t.tv_nsec == 2000000000);
    HOLDS(clock_gettime(CLOCK_MONOTONIC, &t) == 0 && t.tv_nsec >= 0 && t.tv_nsec <= 999999999);
    HOLDS(gettimeofday(&v, 0) == 0 && v.tv_usec >= 0 && v.tv_usec <= 999999);
    HOLDS(time(0) >= -1 && (sizeof(time_t) < 8 || time(0) <= 9223372036) && clock() >= -1);
    /* sockets */
    int pair[2];
    HOLDS(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    HOLDS(send(pair[0], "0123456789", 10, 0) == 10 && recv(pair[1], buffer, 4, 0) == 4);
    HOLDS(send(pair[0], "0123456789", 10, 0) == 10 && recv(pair[1], buffer, 4, MSG_TRUNC) == 10 && MSG_TRUNC == 32);
    HOLDS(recv(-1, buffer, 4, 0) == -1 && bind(-1, 0, 0) == -1 && listen(-1, 1) == -1 && accept(-1, 0, 0) == -1);
    HOLDS((n = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0 && connect(n, 0, 0) == -1);
    HOLDS((htons)(0x1234) == 0x3412 && (ntohs)(0x1234) == 0x3412);
    HOLDS((htonl)(0x01020304u) == 0x04030201u && (ntohl)(0x01020304u) == 0x04030201u);
    HOLDS(inet_pton(AF_INET, "127.0.0.1", buffer) == 1 && inet_pton(AF_INET, "x", buffer) == 0 && inet_pton(-1, "x", buffer) == -1);
    /* getopt: an option with one colon has an argument; the array is reordered, nothing else */
    char name[] = "p", word[] = "w", option[] = "-b", value[] = "v", last[] = "-b";
    char *words[] = {name, word, option, value, last, 0};
    HOLDS(getopt(5, words, "ab:") == 'b' && optarg == value && optind >= 1 && optind <= 5);
    HOLDS(getopt(5, words, ":ab:") == ':' && getopt(5, words, "ab:") == -1);
    for (int i = 0; i < 5; i++) HOLDS(words[i]);
    HOLDS(!words[5] && optind >= 1 && optind <= 5);
    /* strings that are copied: zeros up to the whole size, where the end is, how much there would have been */
    char six[6] = "zzzzz", copy[8];
    HOLDS(strncpy(six, "ab", 5) == six && !memcmp(six, "ab\0\0\0", 6));
    HOLDS(strncpy(six, "abcdefgh", 5) == six && !memcmp(six, "abcde", 6));
    HOLDS(stpcpy(copy, "abc") == copy + 3 && stpncpy(copy, "xy", 5) == copy + 2 && stpncpy(copy, "xyz", 2) == copy + 2);
    HOLDS(strncat(strcpy(copy, "ab"), "cdef", 2) == copy && !strcmp(copy, "abcd"));
    HOLDS(snprintf(six, 4, "%d", 12345) == 5 && !strcmp(six, "123") && snprintf(six, 0, "%s", "xyz") == 3 && six[0] == '1');
    HOLDS(strchrnul(copy, 'z') == copy + 4 && rawmemchr(copy, 'c') == copy + 2);
    char *new = strndup("abcdef", 3);
    HOLDS(new && !strcmp(new, "abc"));
    /* where nothing was read nothing is written */
    char kept[4] = "abc";
    a = 7;
    HOLDS(read(-1, kept, 3) == -1 && recv(-1, kept, 3, 0) == -1 && sscanf("x", "%d", &a) == 0 && a == 7 && kept[0] == 'a');
    fseek(file, 0, SEEK_END);
    HOLDS(!fgets(kept, 4, file) && feof(file) && fread(kept, 1, 3, file) == 0 && kept[0] == 'a');
    HOLDS(sscanf("5 x", "%d %d", &b, &a) == 1 && b == 5 && a == 7);
    /* wide characters */
    wchar_t wide[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    HOLDS(sizeof(wchar_t) == 4 && wcsncpy(wide, L"ab", 4) == wide && wide[2] == 0 && wide[3] == 0 && wide[4] == 5);
    HOLDS(wcscat(wide, L"cd") == wide && wcslen(wide) == 4 && wcsncat(wide, L"efg", 1) == wide && wcslen(wide) == 5);
    HOLDS(wmemset(wide, L'x', 2) == wide && wide[1] == L'x' && wide[2] == L'c');
    HOLDS(swprintf((wchar_t[4]){0}, 4, L"%d", 12345) == -1);
    /* what lies behind the end of a line stays; of a line that there is a character is there, if there is room */
    rewind(file);
    char row[8] = "zzzzzzz";
    HOLDS(fgets(row, 4, file) == row && !memcmp(row, "abc\0zzz", 8) && fgets(row, 1, file) == row && !row[0] && row[1] == 'b');
    /* a search ends at what it finds */
    char source[4] = {'a', 'b', 'c', 'd'}, target[4] = "zzz";
    HOLDS(memchr(source, 'b', 4) == source + 1 && memccpy(target, source, 'b', 4) == target + 2 && !memcmp(target, "abz", 4));
    HOLDS(!memccpy(target, source, 'x', 3) && !memcmp(target, "abc", 4));
    /* pieces of strings */
    char text[] = "  ab c", *piece = strtok(text, " ");
    HOLDS(piece == text + 2 && !strcmp(piece, "ab") && strtok(0, " ") == text + 5 && !strtok(0, " ") && !strtok(0, " "));
    char parts[] = "x,,y", *rest = parts;
    HOLDS(strsep(&rest, ",") == parts && rest == parts + 2 && !parts[1] && !*strsep(&rest, ",") && rest == parts + 3);
    HOLDS(strsep(&rest, ",") == parts + 3 && !rest && !strsep(&rest, ","));
    char slashes[] = "/x/", *kept_rest;
    HOLDS(strtok_r(slashes, "/", &kept_rest) == slashes + 1 && !strtok_r(0, "/", &kept_rest));
    /* text of its own length; a line of a buffer that is null, large enough or too small */
    HOLDS(asprintf(&new, "%d-%s", 12345, "ab") == 8 && !strcmp(new, "12345-ab"));
    rewind(file);
    line = 0;
    size = 0;
    HOLDS(getline(&line, &size, file) == 6 && size >= 7 && !line[6] && getline(&line, &size, file) == -1 && line);
    return 0;
}
"##;

#[test]
fn models_say_what_the_library_does() {
    let folder = std::env::temp_dir().join(format!("proofline-real-library-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("library.c"), folder.join("library"));
    fs::write(&source, PROGRAM).expect("a file");
    let Ok(compiled) = Command::new("cc").args(["-w", "-o"]).arg(&program).arg(&source).status() else {
        // Without a compiler there is nothing to ask.
        return;
    };
    assert!(compiled.success(), "the compiler refuses the program");
    let ended = Command::new(&program).args(["-x", "word"]).stderr(std::process::Stdio::null()).status();
    let code = ended.expect("the program runs").code();
    fs::remove_dir_all(&folder).expect("the folder goes away");
    let line = code.and_then(|code| PROGRAM.lines().nth(usize::try_from(code).ok()?.checked_sub(1)?));
    assert_eq!(code, Some(0), "this does not hold: {}", line.unwrap_or_default());
}

/// What a number becomes is asked of `printf`, over flags, widths and precisions.
#[test]
fn numbers_are_printed_as_the_library_does() {
    let (mut lines, mut expected) = (String::new(), Vec::new());
    let values = [0i64, 1, -1, 7, -10, 255, 1000, i64::from(i32::MAX), i64::from(i32::MIN)];
    for letter in *b"duxXoc" {
        for flags in 0..32u8 {
            let has = |at: u8| flags >> at & 1 == 1;
            // `#` of a decimal number, and most flags of a character, mean nothing.
            if has(4) && b"duc".contains(&letter) || letter == b'c' && flags > 1 {
                continue;
            }
            for (width, precision) in [(0, None), (1, Some(0)), (6, None), (12, Some(5)), (0, Some(3))] {
                if letter == b'c' && precision.is_some() {
                    continue;
                }
                let conversion = Conversion {
                    letter,
                    is_left: has(0),
                    is_zeroed: has(1),
                    is_signed: has(2),
                    is_spaced: has(3),
                    is_alternative: has(4),
                    width,
                    precision,
                };
                assert_eq!(Conversion::from_number(conversion.to_number()), Some(conversion));
                let mut format: String =
                    "-0+ #".chars().zip(0..).filter(|(_, at)| has(*at)).map(|(flag, _)| flag).collect();
                if width > 0 {
                    format += &width.to_string();
                }
                format += &precision.map_or(String::new(), |precision| format!(".{precision}"));
                for value in values {
                    let number = match letter {
                        b'd' => i128::from(value),
                        b'c' => i128::from((value & 0x3f) + 0x20),
                        _ => i128::from(value as u32),
                    };
                    lines += &format!("printf(\"[%{format}{}]\\n\", (int){number}LL);\n", char::from(letter));
                    expected.push(conversion.print(number));
                }
            }
        }
    }
    assert_printed("integers", &lines, &expected);
}

/// The same of `double`, which is rounded to the nearest.
#[test]
fn floating_numbers_are_printed_as_the_library_does() {
    let (mut lines, mut expected) = (String::new(), Vec::new());
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.5,
        2.5,
        0.125,
        9.5,
        99.995,
        12345.678,
        1e-5,
        0.0001,
        123_456.0,
        999_999.5,
        1e15,
        1e20,
        -1e300,
        5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    for letter in *b"fFeEgG" {
        for flags in 0..32u8 {
            let has = |at: u8| flags >> at & 1 == 1;
            // There glibc drops zeros where rounding carries into a new digit; models leave such text open.
            if has(4) && b"gG".contains(&letter) {
                continue;
            }
            for (width, precision) in [(0, None), (12, None), (14, Some(0)), (0, Some(1)), (3, Some(10))] {
                let conversion = Conversion {
                    letter,
                    is_left: has(0),
                    is_zeroed: has(1),
                    is_signed: has(2),
                    is_spaced: has(3),
                    is_alternative: has(4),
                    width,
                    precision,
                };
                let mut format: String =
                    "-0+ #".chars().zip(0..).filter(|(_, at)| has(*at)).map(|(flag, _)| flag).collect();
                if width > 0 {
                    format += &width.to_string();
                }
                format += &precision.map_or(String::new(), |precision| format!(".{precision}"));
                for value in values {
                    let number = match value {
                        f64::INFINITY => "1/zero".to_owned(),
                        f64::NEG_INFINITY => "-1/zero".to_owned(),
                        _ => format!("{value:e}"),
                    };
                    lines += &format!("printf(\"[%{format}{}]\\n\", {number});\n", char::from(letter));
                    expected.push(conversion.print_float(value));
                }
            }
        }
    }
    assert_printed("floats", &lines, &expected);
}

/// The calls print these texts, each in brackets on a line.
fn assert_printed(name: &str, lines: &str, expected: &[Vec<u8>]) {
    let folder = std::env::temp_dir().join(format!("proofline-real-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("printf.c"), folder.join("printf"));
    fs::write(
        &source,
        format!("#include <stdio.h>\nint main(void) {{\nvolatile double zero = 0;\n{lines}return 0; }}\n"),
    )
    .expect("a file");
    let Ok(compiled) = Command::new("cc").args(["-w", "-o"]).arg(&program).arg(&source).status() else {
        return;
    };
    assert!(compiled.success(), "the compiler refuses the program");
    let output = Command::new(&program).output().expect("the program runs").stdout;
    fs::remove_dir_all(&folder).expect("the folder goes away");
    let printed: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    assert!(printed.len() > expected.len(), "a line for each call");
    for ((line, ours), call) in printed.iter().zip(expected).zip(lines.lines()) {
        let theirs = line.strip_prefix(b"[").and_then(|line| line.strip_suffix(b"]"));
        assert_eq!(theirs, Some(&ours[..]), "{call}");
    }
}
