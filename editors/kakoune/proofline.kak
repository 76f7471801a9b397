# UNTESTED. For kakrc, after kak-lsp (kakoune-lsp 18 or newer) has been loaded.
hook -group proofline global BufSetOption filetype=c %{
    set-option buffer lsp_servers %{
        [proofline]
        root_globs = ["compile_commands.json", "compile_flags.txt", ".git"]
        command = "proofline"
        args = ["lsp"]
    }
}
