/** Notifications to systemd: ready, stopping, status line, watchdog. No effect without systemd.
 *  @see https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html */
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { DatagramSender } from './datagram.ts';

export interface SystemdNotifier {
  /** The agent is ready; under Type=notify the unit becomes active. */
  ready(status: string): void;
  /** The agent is stopping. */
  stopping(status: string): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** The start takes longer: extends the start timeout of the unit by that many ms from now. */
  extendStart(byMs: number): void;
  /** Pings the watchdog from the event loop until `signal` fires, so that a blocked loop is detected.
   *  Resolves immediately when the unit has no watchdog. */
  runWatchdog(signal: AbortSignal): Promise<void>;
}

/** Settings in the environment that systemd provides. */
export interface NotifyEnvironment {
  /** Path, or an abstract name with a leading `@`. */
  readonly socket: string;
  /** Time without a ping after which systemd kills the unit, in ms; undefined without a watchdog. */
  readonly watchdogMs: number | undefined;
}

export interface NotifyDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens a socket to this address. */
  readonly openSender: (socket: string) => Promise<DatagramSender>;
}

/** Tolerates two late pings. */
const PINGS_PER_TIMEOUT = 3;

/** Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; undefined when systemd does not listen.
 *  A watchdog for another process is ignored. */
export function parseNotifyEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): NotifyEnvironment | undefined {
  const socket = environment['NOTIFY_SOCKET'];
  if (socket === undefined || !/^[/@]./.test(socket)) return undefined;
  const watchdogPid = environment['WATCHDOG_PID'];
  const microseconds = environment['WATCHDOG_USEC'];
  const isOurs = watchdogPid === undefined || watchdogPid === String(pid);
  const watchdogMs =
    isOurs && microseconds !== undefined && /^[1-9]\d*$/.test(microseconds)
      ? Number(microseconds) / 1000
      : undefined;
  return { socket, watchdogMs };
}

/** Creates a notifier for this environment; a no-op when `environment` is undefined.
 *  Failures are logged: the agent works without notifications. */
export async function createSystemdNotifier(
  deps: NotifyDeps,
  environment: NotifyEnvironment | undefined,
): Promise<SystemdNotifier> {
  if (environment === undefined) return silentNotifier;
  const sender = await deps.openSender(environment.socket);
  const log = deps.log.child({ component: 'systemd' });

  function send(lines: readonly string[]): void {
    try {
      sender.send(Buffer.from(lines.join('\n')));
    } catch (err) {
      log.warn({ err }, 'Failed to notify systemd');
    }
  }

  return {
    ready: (status) => send(['READY=1', statusLine(status)]),
    stopping: (status) => send(['STOPPING=1', statusLine(status)]),
    status: (text) => send([statusLine(text)]),
    extendStart: (byMs) => send([`EXTEND_TIMEOUT_USEC=${Math.round(byMs * 1000)}`]),
    runWatchdog(signal) {
      if (environment.watchdogMs === undefined) return Promise.resolve();
      return pingUntil(signal, deps.clock, environment.watchdogMs / PINGS_PER_TIMEOUT, () =>
        send(['WATCHDOG=1']),
      );
    },
  };
}

const silentNotifier: SystemdNotifier = {
  ready: () => undefined,
  stopping: () => undefined,
  status: () => undefined,
  extendStart: () => undefined,
  runWatchdog: () => Promise.resolve(),
};

function statusLine(text: string): string {
  return `STATUS=${text.replace(/\s+/g, ' ')}`;
}

/** Pings immediately and then every `intervalMs`. */
function pingUntil(signal: AbortSignal, clock: Clock, intervalMs: number, ping: () => void): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const tick = (): void => {
      ping();
      timer = clock.setTimer(tick, intervalMs);
    };
    let timer = clock.setTimer(tick, 0);
    signal.addEventListener(
      'abort',
      () => {
        timer.cancel();
        resolve();
      },
      { once: true },
    );
  });
}
