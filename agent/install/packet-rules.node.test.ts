/** The agent's packet rules in the kernel, in a network namespace of the test's own. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { establishRules, maintainRules, removeRules } from '#agent/network/maintain-rules.ts';
import { createPacketFilter, type PacketFilter } from '#agent/network/packet-filter.ts';
import { rulesNotePath, writeRulesNote } from '#agent/network/rules-note.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { RunProgram } from '#volumes/programs/contract.ts';
import { createRunProgram } from '#volumes/programs/run-program.ts';
import { createTempDir } from '../../testing/temp.ts';
import { removePacketRules } from './packet-rules.ts';

const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo in; exec sleep infinity'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const run = createRunProgram();
const inside = (...args: readonly string[]): readonly string[] => [
  `--net=/proc/${holder.pid}/ns/net`,
  ...args,
];
let filter: PacketFilter;

const options = {
  prefix: 'PLAT',
  platform: 'plat',
  bits: { masquerade: 14, drop: 15 },
  unmasqueraded: [{ source: '10.88.1.0/24', destination: '10.0.0.0/8' }],
};

async function iptables(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('nsenter', [...inside('iptables', ...args)]);
  return stdout;
}

beforeAll(async () => {
  await once(holder.stdout, 'data');
  filter = createPacketFilter(
    (program, args, more) => run('nsenter', inside(program, ...args), more),
    new AbortController().signal,
  );
});

afterAll(async () => {
  const ended = once(holder, 'exit');
  holder.kill('SIGKILL');
  await ended;
});

test.each(['ipv4', 'ipv6'] as const)('are established once in %s', async (family) => {
  expect(await establishRules(filter, options, family)).toEqual(
    ['nat', 'filter', 'mangle'].map((table) => `${family} ${table}`),
  );
  expect(await establishRules(filter, options, family)).toEqual([]);
});

test('have upstream’s chains and jumps', async () => {
  expect(await iptables('-t', 'nat', '-S', 'PLAT-MARK-DROP')).toContain('--set-xmark 0x8000/0x8000');
  expect(await iptables('-t', 'nat', '-S', 'PLAT-MARK-MASQ')).toContain('--set-xmark 0x4000/0x4000');
  expect(await iptables('-t', 'nat', '-S', 'PLAT-POSTROUTING')).toMatch(
    /! --mark 0x4000\/0x4000 -j RETURN[^]*--set-xmark 0x4000\/0x0[^]*-j MASQUERADE --random-fully/,
  );
  expect(await iptables('-t', 'nat', '-S', 'POSTROUTING')).toMatch(/-j PLAT-NON-MASQ[^]*-j PLAT-POSTROUTING/);
  for (const chain of ['INPUT', 'OUTPUT']) {
    expect(await iptables('-S', chain)).toContain('-j PLAT-FIREWALL');
  }
  expect(await iptables('-t', 'mangle', '-S', 'PLAT-IPTABLES-HINT')).toBe('-N PLAT-IPTABLES-HINT\n');
});

test('are established again after another program has flushed them, and with other bits', async () => {
  const stop = new AbortController();
  const clock = createFakeClock();
  const logged: PromiseWithResolvers<void>[] = [Promise.withResolvers(), Promise.withResolvers()];
  let rounds = 0;
  const log = {
    ...silentLogger,
    info() {
      logged[rounds]?.resolve();
      rounds += 1;
    },
  };
  let current = options;
  let changed = (): void => undefined;
  await iptables('-F', 'PLAT-FIREWALL');
  await iptables('-D', 'INPUT', '-j', 'PLAT-FIREWALL');
  const onChange = (listener: () => void) => {
    changed = listener;
    return () => undefined;
  };
  const work = maintainRules({ filter, clock, log, options: () => current, onChange }, stop.signal);
  await logged[0]?.promise;
  expect(await iptables('-S', 'PLAT-FIREWALL')).toContain('--mark 0x8000/0x8000 -j DROP');
  expect(await iptables('-S', 'INPUT')).toContain('-j PLAT-FIREWALL');
  current = { ...options, bits: { masquerade: 14, drop: 16 } };
  changed();
  await clock.advance(60_000);
  await logged[1]?.promise;
  expect(await iptables('-S', 'PLAT-FIREWALL')).toContain('--mark 0x10000/0x10000 -j DROP');
  stop.abort();
  await work;
});

test('are removed completely, and rules of others remain', async () => {
  await iptables('-A', 'INPUT', '-s', '192.0.2.1', '-j', 'DROP');
  await removeRules(filter, 'PLAT');
  const { stdout } = await promisify(execFile)('nsenter', [...inside('iptables-save')]);
  expect(stdout).not.toContain('PLAT');
  expect(stdout).toContain('192.0.2.1');
  expect(await filter.save('ipv6', 'nat')).not.toContain('PLAT');
});

test('are removed by the note of the agent that established them', async () => {
  await using dir = await createTempDir();
  const note = rulesNotePath(dir.path);
  const said: string[] = [];
  const deps = {
    log: silentLogger,
    say: (text: string) => void said.push(text),
    run: ((program, args, more) => run('nsenter', inside(program, ...args), more)) satisfies RunProgram,
  };
  await establishRules(filter, options, 'ipv4');
  await removePacketRules(deps, { note });
  expect(await filter.save('ipv4', 'nat')).toContain('PLAT');
  await writeRulesNote(note, 'plat');
  await removePacketRules(deps, { note });
  expect(await filter.save('ipv4', 'nat')).not.toContain('PLAT');
  await removePacketRules(deps, { note });
  expect(said).toEqual(['packet rules removed: chains PLAT-…']);
});
