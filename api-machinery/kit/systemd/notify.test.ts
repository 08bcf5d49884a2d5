import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../clock.ts';
import { silentLogger } from '../logger.ts';
import { createSystemdNotifier, type NotifyEnvironment, parseNotifyEnvironment } from './notify.ts';

describe('parseNotifyEnvironment', () => {
  test.each<[string, Record<string, string>, NotifyEnvironment | undefined]>([
    ['nothing without systemd', {}, undefined],
    ['nothing for a kind of socket it cannot reach', { NOTIFY_SOCKET: 'vsock:2:1234' }, undefined],
    ['a path', { NOTIFY_SOCKET: '/run/n' }, { socket: '/run/n', watchdogMs: undefined }],
    ['an abstract name', { NOTIFY_SOCKET: '@n' }, { socket: '@n', watchdogMs: undefined }],
    ['a watchdog', { NOTIFY_SOCKET: '/n', WATCHDOG_USEC: '3000000' }, { socket: '/n', watchdogMs: 3000 }],
    [
      'a watchdog for this process',
      { NOTIFY_SOCKET: '/n', WATCHDOG_USEC: '3000000', WATCHDOG_PID: '7' },
      { socket: '/n', watchdogMs: 3000 },
    ],
    [
      'no watchdog that is for another process',
      { NOTIFY_SOCKET: '/n', WATCHDOG_USEC: '3000000', WATCHDOG_PID: '8' },
      { socket: '/n', watchdogMs: undefined },
    ],
    [
      'no watchdog of a malformed time',
      { NOTIFY_SOCKET: '/n', WATCHDOG_USEC: '-1' },
      { socket: '/n', watchdogMs: undefined },
    ],
  ])('finds %s', (_, environment, expected) => {
    expect(parseNotifyEnvironment(environment, 7)).toEqual(expected);
  });
});

async function startNotifier(send: (text: string) => void, watchdogMs?: number) {
  const clock = createFakeClock();
  const openSender = async () => ({
    send: (payload: Uint8Array) => send(Buffer.from(payload).toString()),
    close: () => undefined,
  });
  const notifier = await createSystemdNotifier(
    { clock, log: silentLogger, openSender },
    { socket: '/n', watchdogMs },
  );
  return { clock, notifier };
}

describe('createSystemdNotifier', () => {
  test('sends state and status in one message', async () => {
    const sent: string[] = [];
    const { notifier } = await startNotifier((text) => sent.push(text));
    notifier.ready('3 pods');
    notifier.status('two\nlines');
    notifier.stopping('bye');
    expect(sent).toEqual(['READY=1\nSTATUS=3 pods', 'STATUS=two lines', 'STOPPING=1\nSTATUS=bye']);
  });

  test('pings the watchdog three times per timeout until the signal fires', async () => {
    const sent: string[] = [];
    const { clock, notifier } = await startNotifier((text) => sent.push(text), 3000);
    const stop = new AbortController();
    const done = notifier.runWatchdog(stop.signal);
    await clock.advance(2999);
    expect(sent).toEqual(['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
    stop.abort();
    await done;
    await clock.advance(10_000);
    expect(sent).toHaveLength(3);
  });

  test('continues when a message cannot be sent', async () => {
    const { clock, notifier } = await startNotifier(() => {
      throw new Error('gone');
    }, 300);
    const stop = new AbortController();
    const done = notifier.runWatchdog(stop.signal);
    await clock.advance(1000);
    expect(() => notifier.ready('x')).not.toThrow();
    stop.abort();
    await done;
  });

  test('does nothing without systemd', async () => {
    const openSender = () => Promise.reject(new Error('no socket was to be opened'));
    const notifier = await createSystemdNotifier(
      { clock: createFakeClock(), log: silentLogger, openSender },
      undefined,
    );
    notifier.ready('x');
    await expect(notifier.runWatchdog(new AbortController().signal)).resolves.toBeUndefined();
  });
});
