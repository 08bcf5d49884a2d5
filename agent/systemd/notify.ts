/** Tells systemd how the agent is: ready, stopping, a line of status, alive. Without systemd it does nothing.
 *  @see https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { DatagramSender } from './datagram.ts';

export interface SystemdNotifier {
  /** The agent serves; under Type=notify the unit is active from now on. */
  ready(status: string): void;
  /** The agent is about to end. */
  stopping(status: string): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** The start takes longer: the unit is not to time out for so many ms from now. */
  extendStart(byMs: number): void;
  /** Pings the watchdog from the event loop until `signal` fires, so that a loop that hangs is noticed.
   *  Resolves at once when the unit has no watchdog. */
  runWatchdog(signal: AbortSignal): Promise<void>;
}

/** What systemd put into the environment for this process. */
export interface NotifyEnvironment {
  /** Path, or a name in the abstract namespace with a leading `@`. */
  readonly socket: string;
  /** Time without a ping after which systemd ends the unit, in ms; undefined when it has no watchdog. */
  readonly watchdogMs: number | undefined;
}

export interface NotifyDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens a socket to send to this address. */
  readonly openSender: (socket: string) => Promise<DatagramSender>;
}

/** Two pings may be late before the watchdog bites. */
const PINGS_PER_TIMEOUT = 3;

/** Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; undefined when systemd does not listen.
 *  A watchdog that is meant for another process is left out. */
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

/** A notifier for this environment; one that does nothing when `environment` is undefined.
 *  A message that cannot be sent is logged: the agent works without systemd's knowing. */
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
      log.warn({ err }, 'systemd was not notified');
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

/** Pings at once and then every `intervalMs`. */
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
