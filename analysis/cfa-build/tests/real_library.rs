//! What `models/libc.model` says of results, asked of the C library of this machine.

use std::{fs, process::Command};

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
    /* wide characters */
    HOLDS(swprintf((wchar_t[4]){0}, 4, L"%d", 12345) == -1);
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
