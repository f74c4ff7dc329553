# Adds what its phase add is given, and keeps the sum between phases.
. ./meridian_daemon.sh

sum=0

phase_add() {
	sum=$((sum + $(parameter n)))
	result "{\"sum\":$sum}"
}

serve add
