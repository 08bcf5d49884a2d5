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
  test('tells of a server that doesn’t answer, and begins nothing more there until it does', async () => {
    const clock = createFakeClock();
    const binds = createRemoteBinds({ clock });
    const { promise, resolve } = Promise.withResolvers<void>();
    let begun = 0;
    const hang = (): Promise<void> => {
      begun += 1;
      return promise;
    };
    const first = textOf(binds.run(server('a'), hang));
    const second = textOf(binds.run(server('a'), hang));
    await clock.advance(0);
    await clock.advance(30_000);
    const gone = 'VolumeSetupError: a.example:/web (nfs4) does not answer';
    expect([await first, await second]).toEqual([gone, gone]);
    expect(await textOf(binds.run(server('a'), hang))).toBe(gone);
    expect(begun).toBe(1);
    resolve();
    await clock.advance(0);
    expect(await textOf(binds.run(server('a'), hang))).toBe('');
    expect(begun).toBe(2);
  });

  test('lets others go on', async () => {
    const binds = createRemoteBinds({ clock: createFakeClock() });
    void textOf(binds.run(server('a'), () => new Promise(() => undefined)));
    expect(await textOf(binds.run(server('b'), async () => undefined))).toBe('');
  });

  test('holds no more threads than a few, however many servers are gone', async () => {
    const clock = createFakeClock();
    const binds = createRemoteBinds({ clock });
    let begun = 0;
    for (let index = 0; index < 20; index += 1)
      void textOf(
        binds.run(server(`s${index}`), () => {
          begun += 1;
          return new Promise(() => undefined);
        }),
      );
    await clock.advance(30_000);
    expect(begun).toBe(4);
  });
});
