package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// defaultServerDir is where a server stores traces, and keeps its keys.
const defaultServerDir = "meridian-traces"

// serverInitFlags is what the command line says.
type serverInitFlags struct {
	quietFlag
	dir, names string
	port       int
	renew      bool
	external   bool
}

func newServerInit() *cobra.Command {
	var f serverInitFlags
	cmd := &cobra.Command{
		Use:   "init [--dir DIR] [--name HOST[,IP]...]",
		Short: "Make the keys of a server, so that other machines may reach it",
		Long: `Make the keys of 'meridian server' in DIR/.trust, readable by their owner alone: an authority, the certificate of the broker, and the keys of the
server and of operators. A server whose DIR has keys speaks TLS 1.3 and accepts only agents with an invitation ('meridian server invite').

--name is how clients reach this machine; the certificate has these names, localhost, 127.0.0.1 and ::1. Invitations name the same machines, with --port.
--renew makes a new certificate of the broker, for other names or before it expires after ten years. Invitations stay valid. Restart the server then.

--external prints the lines of configuration for an ordinary nats-server, or each of a cluster, which then asks for the same keys and has the same permissions.
Print them anew after 'server invite' and 'server revoke', and have the brokers read them by 'nats-server --signal reload'.

Leave .trust out where you copy DIR to others: who has it can be the server.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian server init
  meridian server init --dir /var/lib/meridian --name collector.example.org,10.0.0.5
  meridian server init --renew --name collector.example.org,10.0.0.6
  meridian server init --external --name nats1,nats2,nats3 > meridian.conf`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.dir, "dir", defaultServerDir, "the server's `DIR`")
	flags.StringVar(&f.names, "name", "", "`NAMES` and addresses of this machine, separated by commas (default: its hostname)")
	flags.IntVar(&f.port, "port", 0, "`PORT` of the broker, for invitations (default: 4222)")
	flags.BoolVar(&f.renew, "renew", false, "make a new certificate for the keys that are there")
	flags.BoolVar(&f.external, "external", false, "print the configuration of an ordinary nats-server with these keys, which are made if there are none")
	cmd.MarkFlagsMutuallyExclusive("external", "renew")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *serverInitFlags) run(cmd *cobra.Command) error {
	if f.port < 0 || f.port > 65535 {
		return wrong("--port %d: write a number from 1 to 65535", f.port)
	}
	if err := checkServerDir(f.dir); err != nil {
		return err
	}
	o := trust.Options{Port: f.port, Now: time.Now()}
	if f.names != "" {
		o.Names = strings.Split(f.names, ",")
	}
	for _, name := range o.Names {
		if err := trust.CheckName(name); err != nil {
			return wrong("--name: %v", err)
		}
	}
	if f.renew {
		t, err := openTrust(f.dir)
		if err != nil {
			return err
		}
		if err := t.Renew(o); err != nil {
			return err
		}
		f.say(cmd, "made a new certificate in %s; restart the server", t.Dir())
		return nil
	}
	if f.external {
		t, err := trust.Open(f.dir)
		if err == nil {
			if f.names != "" || f.port != 0 {
				return wrong("--name and --port: %s has keys already: change these by --renew", f.dir)
			}
			return printConfiguration(cmd, t)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if f.names == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("this machine's name: %w: give --name", err)
		}
		if err := trust.CheckName(host); err != nil {
			return wrong("this machine's name: %v: give --name", err)
		}
		o.Names = []string{host}
	}
	t, err := trust.Init(f.dir, o)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: to change the names of the certificate, add --renew", err)
	} else if err != nil {
		return err
	}
	f.say(cmd, "made the keys of %s in %s", strings.Join(o.Names, ", "), t.Dir())
	if f.external {
		return printConfiguration(cmd, t)
	}
	f.say(cmd, "for each host: meridian server invite HOST --dir %s; operators: meridian server hosts --key %s", f.dir, t.OperatorKey())
	return nil
}

// printConfiguration prints the lines of an ordinary nats-server.
func printConfiguration(cmd *cobra.Command, t *trust.Trust) error {
	users, err := t.Users()
	if err != nil {
		return err
	}
	certificate, key := t.Certificate()
	if certificate, err = filepath.Abs(certificate); err == nil {
		key, err = filepath.Abs(key)
	}
	if err != nil {
		return err
	}
	return broker.WriteConfiguration(cmd.OutOrStdout(), users, certificate, key)
}

// checkServerDir refuses a file where a server's directory is wanted. A directory that is not there yet is made later.
func checkServerDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return wrong("--dir %s: this is a file; name the directory that stores traces, or one that is not there yet", dir)
	}
	return nil
}

// openTrust returns the keys of a server, which has some.
func openTrust(dir string) (*trust.Trust, error) {
	if err := checkServerDir(dir); err != nil {
		return nil, err
	}
	t, err := trust.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: make keys by 'meridian server init --dir %s'", err, dir)
	}
	return t, err
}

// serverInviteFlags is what the command line says.
type serverInviteFlags struct {
	quietFlag
	dir, output, servers string
}

func newServerInvite() *cobra.Command {
	var f serverInviteFlags
	cmd := &cobra.Command{
		Use:   "invite [--dir DIR] [-o FILE] HOST",
		Short: "Make the file with which the agent of one host may connect",
		Long: `Make a key for HOST and write it into HOST.invitation, with the addresses of the server and the certificate of its authority. Move the file to the host
by a safe way, such as scp, and run 'meridian agent --invite FILE' there. With it an agent may send traces of HOST and nothing else.

A server that runs accepts the key at once. The server keeps the public part only: a lost invitation cannot be made again; revoke it and make another.
An existing file is never replaced.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian server invite web
  meridian server invite web -o - | ssh web 'umask 077; cat > web.invitation'
  meridian server invite db --server tls://10.0.0.5:4222`,
		Args: oneHost,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.dir, "dir", defaultServerDir, "the server's `DIR`")
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to make; - for the standard output (default: HOST.invitation)")
	flags.StringVar(&f.servers, "server", "", "`URLS` of the broker for this host, separated by commas (default: the names given to 'meridian server init')")
	f.quietFlag.add(cmd)
	return cmd
}

// oneHost takes the name of a host as the only argument.
func oneHost(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want the name of one host: %s", cmd.UseLine())
	}
	return wire.CheckHost(args[0])
}

func (f *serverInviteFlags) run(cmd *cobra.Command, host string) error {
	var servers []string
	if f.servers != "" {
		servers = strings.Split(f.servers, ",")
	}
	for _, s := range servers {
		if err := trust.CheckServer(s); err != nil {
			return wrong("--server: %v", err)
		}
	}
	t, err := openTrust(f.dir)
	if err != nil {
		return err
	}
	if f.output == "-" {
		return t.Invite(host, servers, func(b []byte) (func() error, error) {
			_, err := cmd.OutOrStdout().Write(b)
			return func() error { return nil }, err
		})
	}
	file := f.output
	if file == "" {
		file = host + ".invitation"
	}
	if err := t.Invite(host, servers, trust.NewFile(file)); err != nil {
		return err
	}
	f.say(cmd, "wrote %s; on %s: meridian agent --invite %s", file, host, file)
	return nil
}

// serverRevokeFlags is what the command line says.
type serverRevokeFlags struct {
	quietFlag
	dir string
}

func newServerRevoke() *cobra.Command {
	var f serverRevokeFlags
	cmd := &cobra.Command{
		Use:   "revoke [--dir DIR] HOST",
		Short: "Refuse the invitation of a host from now on",
		Long: `Take away the key of HOST. A server that runs closes the connection of its agent at once. What the host has sent stays stored.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian server revoke web
  meridian server revoke web && meridian server invite web -o new.invitation`,
		Args: oneHost,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := openTrust(f.dir)
			if err != nil {
				return err
			}
			if err := t.Revoke(args[0], time.Now()); err != nil {
				return err
			}
			f.say(cmd, "the key of %s is refused from now on", args[0])
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.dir, "dir", defaultServerDir, "the server's `DIR`")
	f.quietFlag.add(cmd)
	return cmd
}
