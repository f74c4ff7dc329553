# A daemon of 'meridian run' in the shell. Source it, define phase_NAME functions, and call serve NAME...
#   . ./meridian_daemon.sh
#   phase_send() { messages=$(parameter count); result '{"messages":'"$messages"'}'; }
#   serve send
# Phases run one after the other. A phase that returns other than 0 has failed, with its text in $why. Print to standard error.

# parameter NAME prints a parameter of the phase: a number, true, false, or a text without quotes in it.
parameter() {
	printf '%s\n' "$line" | sed -n 's/.*"with":{\([^}]*\)}.*/\1/p' | tr ',' '\n' | sed -n 's/^"'"$1"'":"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p'
}

# result JSON sets the result of the phase.
result() { result=$1; }

serve() {
	names=
	for name in "$@"; do names="$names${names:+,}\"$name\""; done
	echo "{\"waiting\":[$names]}"
	while read -r line; do
		call=$(printf '%s\n' "$line" | sed -n 's/.*"start":\([0-9]*\).*/\1/p')
		phase=$(printf '%s\n' "$line" | sed -n 's/.*"phase":"\([^"]*\)".*/\1/p')
		result=null why="phase $phase failed"
		if "phase_$phase"; then
			echo "{\"done\":$call,\"result\":$result}"
		else
			echo "{\"failed\":$call,\"error\":\"$why\"}"
		fi
	done
}
