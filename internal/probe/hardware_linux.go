package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// interfacePHC is the PHC of an interface of this machine.
type interfacePHC struct {
	name   string
	clock  *os.File             // /dev/ptpN
	socket int                  // for requests to the interface
	before *unix.HwTstampConfig // how it stamped; nil where that was left as it was
}

// OpenPHC opens the clock of an interface and has the interface stamp all datagrams. It needs CAP_NET_ADMIN unless the interface
// does so already.
func OpenPHC(name string) (_ PHC, err error) {
	p := &interfacePHC{name: name}
	if p.socket, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("probe: %s: %w", name, err)
	}
	if err := p.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("probe: hardware stamps of %s: %w", name, err), p.Close())
	}
	return p, nil
}

func (p *interfacePHC) open() error {
	info, err := unix.IoctlGetEthtoolTsInfo(p.socket, p.name)
	if err != nil {
		return fmt.Errorf("ETHTOOL_GET_TS_INFO: %w", err)
	}
	const needed = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE
	if info.Phc_index < 0 || info.So_timestamping&needed != needed {
		return errors.New("the interface has none")
	}
	if p.clock, err = os.Open(fmt.Sprintf("/dev/ptp%d", info.Phc_index)); err != nil {
		return err
	}
	if _, _, _, err := p.Read(); err != nil {
		return err
	}
	now, err := unix.IoctlGetHwTstamp(p.socket, p.name)
	if err == nil && now.Tx_type == unix.HWTSTAMP_TX_ON && now.Rx_filter == unix.HWTSTAMP_FILTER_ALL {
		return nil
	}
	if err := unix.IoctlSetHwTstamp(p.socket, p.name, &unix.HwTstampConfig{Tx_type: unix.HWTSTAMP_TX_ON, Rx_filter: unix.HWTSTAMP_FILTER_ALL}); err != nil {
		return fmt.Errorf("SIOCSHWTSTAMP: %w", err)
	}
	p.before = now
	return nil
}

// phcSamples is how many readings are asked for, to keep the narrowest.
const phcSamples = 3

// Read reads REALTIME before and after the PHC, in the kernel (PTP_SYS_OFFSET_EXTENDED).
func (p *interfacePHC) Read() (phc, before, after int64, err error) {
	o, err := unix.IoctlPtpSysOffsetExtended(int(p.clock.Fd()), phcSamples)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("PTP_SYS_OFFSET_EXTENDED: %w", err)
	}
	ns := func(t unix.PtpClockTime) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	for i := range phcSamples {
		a, c, b := ns(o.Ts[i][0]), ns(o.Ts[i][1]), ns(o.Ts[i][2])
		if i == 0 || b-a < after-before {
			phc, before, after = c, a, b
		}
	}
	return phc, before, after, nil
}

func (p *interfacePHC) Close() (err error) {
	if p.before != nil {
		err = unix.IoctlSetHwTstamp(p.socket, p.name, p.before)
	}
	if p.clock != nil {
		err = errors.Join(err, p.clock.Close())
	}
	return errors.Join(err, unix.Close(p.socket))
}

// bind has a socket use one interface alone, so that all stamps of hardware are of its clock.
func (s *udp) bind(name string) error {
	var failed error
	if err := s.raw.Control(func(fd uintptr) { failed = unix.BindToDevice(int(fd), name) }); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("probe: SO_BINDTODEVICE %s: %w", name, failed)
	}
	return nil
}
