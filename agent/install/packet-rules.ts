/** Removes the packet rules that the agent has established, by its note of them. */
import { removeRules } from '#agent/network/maintain-rules.ts';
import { createPacketFilter } from '#agent/network/packet-filter.ts';
import { readRulesNote, removeRulesNote } from '#agent/network/rules-note.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { RunProgram } from '#volumes/programs/contract.ts';
import { createRunProgram } from '#volumes/programs/run-program.ts';

export interface PacketRulesDeps {
  readonly log: Pick<Logger, 'warn'>;
  readonly say: (text: string) => void;
  /** Runs the programs of iptables; on this machine by default. */
  readonly run?: RunProgram;
}

/** Idempotent. What remains is logged: an installation without packet rules is removed completely. */
export async function removePacketRules(
  { log, say, run = createRunProgram() }: PacketRulesDeps,
  { note }: { readonly note: string },
): Promise<void> {
  const prefix = await readRulesNote(note);
  if (prefix === undefined) return;
  try {
    await removeRules(createPacketFilter(run, new AbortController().signal), prefix);
    await removeRulesNote(note);
    say(`packet rules removed: chains ${prefix}-…`);
  } catch (thrown) {
    log.warn({ err: asError(thrown), prefix }, 'Failed to remove packet rules');
  }
}
