import { expect, test } from 'vitest';
import { CgroupDriverError, decideDriver, parseRuntimeDriver } from './driver.ts';

const info = (options: unknown): Readonly<Record<string, string>> => ({
  config: JSON.stringify({ containerd: { defaultRuntimeName: 'runc', runtimes: { runc: { options } } } }),
});

test.each([
  ['systemd', info({ SystemdCgroup: true }), 'systemd'],
  ['the agent’s own way', info({ SystemdCgroup: false }), 'cgroupfs'],
  ['nothing', info({}), undefined],
  ['no configuration', {}, undefined],
  ['something else', { config: '[' }, undefined],
])('a runtime reports %s', (_, verbose, driver) => {
  expect(parseRuntimeDriver(verbose)).toBe(driver);
});

test('the default driver is that of the runtime; a conflicting configured one is rejected with the remedy', () => {
  expect(decideDriver({ driver: 'cgroupfs', chosen: false }, 'systemd')).toBe('systemd');
  expect(decideDriver({ driver: 'systemd', chosen: true }, undefined)).toBe('systemd');
  expect(decideDriver({ driver: 'systemd', chosen: true }, 'systemd')).toBe('systemd');
  const refused = (): unknown => decideDriver({ driver: 'cgroupfs', chosen: true }, 'systemd');
  expect(refused).toThrow(CgroupDriverError);
  expect(refused).toThrow('--cgroup-driver=systemd, or set SystemdCgroup = false');
});
