import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createRemoteBinds } from './remote-binds.ts';

const server = (device: string): { device: string; source: string; fsType: string } => ({
  device,
  source: `${device}.example:/web`,
  fsType: 'nfs4',
});
const textOf = (work: Promise<void>): Promise<string> =>
  work.then(
    () => '',
    (thrown: unknown) => String(thrown),
  );

describe('createRemoteBinds', () => {
  test('reports an unresponsive server, and starts nothing else there until it responds', async () => {
    const clock = createFakeClock();
    const binds = createRemoteBinds({ clock });
    const { promise, resolve } = Promise.withResolvers<void>();
    let started = 0;
    const hang = (): Promise<void> => {
      started += 1;
      return promise;
    };
    const first = textOf(binds.run(server('a'), hang));
    const second = textOf(binds.run(server('a'), hang));
    await clock.advance(0);
    await clock.advance(30_000);
    const gone = 'VolumeSetupError: a.example:/web (nfs4) does not respond';
    expect([await first, await second]).toEqual([gone, gone]);
    expect(await textOf(binds.run(server('a'), hang))).toBe(gone);
    expect(started).toBe(1);
    resolve();
    await clock.advance(0);
    expect(await textOf(binds.run(server('a'), hang))).toBe('');
    expect(started).toBe(2);
  });

  test('does not delay other servers', async () => {
    const binds = createRemoteBinds({ clock: createFakeClock() });
    void textOf(binds.run(server('a'), () => new Promise(() => undefined)));
    expect(await textOf(binds.run(server('b'), async () => undefined))).toBe('');
  });

  test('blocks only a few threads, however many servers are unreachable', async () => {
    const clock = createFakeClock();
    const binds = createRemoteBinds({ clock });
    let started = 0;
    for (let index = 0; index < 20; index += 1)
      void textOf(
        binds.run(server(`s${index}`), () => {
          started += 1;
          return new Promise(() => undefined);
        }),
      );
    await clock.advance(30_000);
    expect(started).toBe(4);
  });
});
