#!/usr/bin/env bash
# Starts VS Code on a folder with the extension. Usage: start.sh STATE FOLDER VSIX PROGRAM PORT (PROGRAM empty: the extension finds its own); prints the process id; it serves when this returns.
. "$(dirname "$0")/../install/common.sh"
state=$1 folder=$2 vsix=$3 program=$4 port=$5
export PATH="$CACHE/node24/bin:$PATH"
code=(node "$CACHE/code-server/node_modules/code-server/out/node/entry.js" --user-data-dir "$state/data" --extensions-dir "$state/extensions" --config "$state/config.yaml")
mkdir -p "$state/data/User"
printf 'bind-addr: 127.0.0.1:%s\nauth: none\ncert: false\n' "$port" > "$state/config.yaml"
# Whatever would use the network, ask questions or move is off; pictures are to be the same each time.
cat > "$state/data/User/settings.json" <<J
{
  "security.workspace.trust.enabled": false, "workbench.startupEditor": "none", "telemetry.telemetryLevel": "off",
  "update.mode": "none", "extensions.autoUpdate": false, "extensions.autoCheckUpdates": false, "extensions.ignoreRecommendations": true,
  "workbench.tips.enabled": false, "chat.disableAIFeatures": true, "chat.commandCenter.enabled": false, "workbench.secondarySideBar.defaultVisibility": "hidden",
  "files.autoSave": "off", "editor.minimap.enabled": false, "editor.cursorBlinking": "solid", "editor.stickyScroll.enabled": false, "git.enabled": false,
  "files.simpleDialog.enable": true, "window.commandCenter": false, "debug.toolBarLocation": "docked", "workbench.colorTheme": "Default Dark Modern",
  "editor.accessibilitySupport": "off", "workbench.editor.enablePreview": false, "debug.openDebug": "neverOpen", "workbench.reduceMotion": "on"
}
J
# The program's place belongs to the machine that the server part runs on.
mkdir -p "$state/data/Machine"
[ -z "$program" ] && echo '{}' > "$state/data/Machine/settings.json" || echo "{ \"proofline.path\": \"$program\" }" > "$state/data/Machine/settings.json"
"${code[@]}" --install-extension "$vsix" > "$state/install.log" 2>&1 || { cat "$state/install.log" >&2; exit 1; }
"${code[@]}" --disable-telemetry --disable-update-check --disable-workspace-trust --disable-getting-started-override --reconnection-grace-time 3 "$folder" > "$state/server.log" 2>&1 &
pid=$!
for _ in $(seq 1 300); do
  curl -fs "http://127.0.0.1:$port/healthz" >/dev/null 2>&1 && break
  kill -0 "$pid" 2>/dev/null || { cat "$state/server.log" >&2; exit 1; }
  sleep 0.2
done
disown "$pid"
echo "$pid"
