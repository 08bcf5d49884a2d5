import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createDeviceWaiter } from './wait-for-device.ts';

/** A block device that exists on every machine with loop devices; only inspected. */
const SOME_DEVICE = '/dev/loop0';
const never = new AbortController().signal;

async function setUp() {
  const dev = await mkdtemp('/tmp/na-dev-');
  const clock = createFakeClock();
  return {
    dev,
    clock,
    wait: createDeviceWaiter({ clock, paths: { dev } }),
    [Symbol.asyncDispose]: () => rm(dev, { recursive: true }),
  };
}

describe('createDeviceWaiter', () => {
  test('finds existing devices at once, also behind a link', async () => {
    await using at = await setUp();
    await symlink(SOME_DEVICE, join(at.dev, 'sdb'));
    await expect(at.wait([join(at.dev, 'sda'), join(at.dev, 'sdb')], never)).resolves.toBe(SOME_DEVICE);
  });

  test('detects a device in directories created with it', async () => {
    await using at = await setUp();
    const waiting = at.wait([join(at.dev, 'disk/by-id/a'), join(at.dev, 'disk/by-path/b')], never);
    await mkdir(join(at.dev, 'disk'));
    await mkdir(join(at.dev, 'disk/by-path'));
    await symlink(SOME_DEVICE, join(at.dev, 'disk/by-path/b'));
    await expect(waiting).resolves.toBe(SOME_DEVICE);
  });

  test('detects a device that appears after its link', async () => {
    await using at = await setUp();
    await mkdir(join(at.dev, 'by-id'));
    await symlink('../sdz', join(at.dev, 'by-id/a'));
    const waiting = at.wait([join(at.dev, 'by-id/a')], never);
    await symlink(SOME_DEVICE, join(at.dev, 'sdz'));
    await expect(waiting).resolves.toBe(SOME_DEVICE);
  });

  test('keeps waiting when the directory is replaced', async () => {
    await using at = await setUp();
    await mkdir(join(at.dev, 'by-id'));
    const waiting = at.wait([join(at.dev, 'by-id/a')], never);
    await rm(join(at.dev, 'by-id'), { recursive: true });
    await mkdir(join(at.dev, 'by-id'));
    await symlink(SOME_DEVICE, join(at.dev, 'by-id/a'));
    await expect(waiting).resolves.toBe(SOME_DEVICE);
  });

  test('accepts no file as a device, and reports the missing device after half a minute', async () => {
    await using at = await setUp();
    await writeFile(join(at.dev, 'sda'), '');
    const waiting = at.wait([join(at.dev, 'sda'), join(at.dev, 'sdb')], never);
    const failed = waiting.catch(String);
    await at.clock.advance(30_000);
    expect(await failed).toContain(`${at.dev}/sda or ${at.dev}/sdb did not appear within 30 s`);
  });

  test('ends with the reason of the caller', async () => {
    await using at = await setUp();
    const stop = new AbortController();
    const waiting = at.wait([join(at.dev, 'sda')], stop.signal);
    stop.abort(new Error('the pod is gone'));
    await expect(waiting).rejects.toThrow('the pod is gone');
  });

  test.each(['/etc/passwd', '/dev/../etc/x', 'sda'])('rejects %s', async (path) => {
    await using at = await setUp();
    await expect(at.wait([path], never)).rejects.toThrow('is not a device path');
  });
});
