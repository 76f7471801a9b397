# Sourced: a program on a terminal of its own (tmux), driven by keys, read as text, photographed as PNG.
# SCREEN names the tmux server, so that tests at the same time do not meet.
SCREEN=${SCREEN:-proofline-$$}
T() { tmux -L "$SCREEN" -f /dev/null "$@"; }

# screen_start NAME COMMAND: 118 columns, 34 rows.
screen_start() {
  T new-session -d -s "$1" -x 118 -y 34 "$2"
  T set-option -g escape-time 0
}

# screen_wait NAME TEXT [SECONDS]: until the text is on the screen.
screen_wait() {
  local n
  for n in $(seq 1 $((${3:-60} * 5))); do
    T capture-pane -p -t "$1" | grep -qF -- "$2" && return 0
    sleep 0.2
  done
  echo "never on the screen: $2" >&2
  T capture-pane -p -t "$1" >&2
  return 1
}

# screen_gone NAME TEXT [SECONDS]: until the text is not on the screen.
screen_gone() {
  local n
  for n in $(seq 1 $((${3:-60} * 5))); do
    T capture-pane -p -t "$1" | grep -qF -- "$2" || return 0
    sleep 0.2
  done
  echo "still on the screen: $2" >&2
  T capture-pane -p -t "$1" >&2
  return 1
}

screen_keys() { local name=$1; shift; T send-keys -t "$name" "$@"; sleep 0.3; }

# screen_picture NAME FILE.png
screen_picture() {
  local page
  page=$(mktemp --suffix=.html)
  {
    echo '<meta charset=utf-8><style>body{margin:0;background:#1e1e1e;color:#ddd}pre{font:14px/17px "DejaVu Sans Mono",monospace;margin:6px}</style>'
    T capture-pane -pe -t "$1" | aha --black --no-header | sed '1s/^/<pre>/;$s/$/<\/pre>/'
  } > "$page"
  timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1010,592 --screenshot="$2" "file://$page" >/dev/null 2>&1
  rm -f "$page"
  [ -s "$2" ]
}

screen_end() { T kill-server 2>/dev/null || true; }
