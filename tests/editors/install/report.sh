#!/usr/bin/env bash
# The report needs a browser, and no editor.
exec bash "$(dirname "$0")/browser.sh"
