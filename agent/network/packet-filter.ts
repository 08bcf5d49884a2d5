/** Reads and changes the kernel's packet rules through the iptables programs, one transaction per table. */
import type { RunProgram } from '#volumes/programs/contract.ts';
import type { AddressFamily, PacketTable } from './packet-rules.ts';

/** A program of iptables failed. */
class PacketFilterError extends Error {
  constructor(program: string, table: PacketTable, output: string) {
    super(`${program} failed for table ${table}: ${output.trim()}`);
    this.name = 'PacketFilterError';
  }
}

export interface PacketFilter {
  /** Returns a table in the form of `iptables-save`. */
  readonly save: (family: AddressFamily, table: PacketTable) => Promise<string>;
  /** Applies a transaction to a table. */
  readonly restore: (family: AddressFamily, table: PacketTable, input: string) => Promise<void>;
}

const TIMEOUT_MS = 30_000;
/** Time to wait for other programs that hold the lock of the rules. */
const LOCK_SECONDS = 5;
const PREFIXES: Readonly<Record<AddressFamily, string>> = { ipv4: 'iptables', ipv6: 'ip6tables' };

export function createPacketFilter(run: RunProgram, signal: AbortSignal): PacketFilter {
  async function call(
    program: string,
    args: readonly string[],
    table: PacketTable,
    input?: string,
  ): Promise<string> {
    const options = { signal, timeoutMs: TIMEOUT_MS, ...(input === undefined ? {} : { input }) };
    const { code, stdout, stderr } = await run(program, args, options);
    if (code !== 0) throw new PacketFilterError(program, table, stderr);
    return stdout;
  }
  return {
    save: (family, table) => call(`${PREFIXES[family]}-save`, ['-t', table], table),
    async restore(family, table, input) {
      const args = ['--noflush', `--wait=${LOCK_SECONDS}`];
      await call(`${PREFIXES[family]}-restore`, args, table, input);
    },
  };
}
