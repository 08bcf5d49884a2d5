/** `nodeagent apply --prune`: deletes applied objects that the manifests do not contain. */
import type { CommandContext } from '../command.ts';
import { createSelector } from '../output/select.ts';
import { fetchApplied } from './applied.ts';
import { type ApplyMode, shownIdentity } from './apply-text.ts';
import { nameKey } from './objects.ts';

export interface PruneRequest {
  /** Keys of the objects in the manifests. */
  readonly retained: ReadonlySet<string>;
  /** Undefined for all applied objects. */
  readonly selector: string | undefined;
  readonly mode: ApplyMode;
}

/** @throws AgentUnreachableError, ApiError, UsageError */
export async function prune(
  { retained, selector, mode }: PruneRequest,
  context: CommandContext,
): Promise<void> {
  const { api, out, signal } = context;
  const isSelected = createSelector('object', { labels: selector, fields: undefined });
  for (const { name, manifest } of await fetchApplied(api, signal)) {
    if (retained.has(nameKey(name)) || !isSelected(manifest)) continue;
    if (mode === 'apply') {
      await api.json({ method: 'DELETE', path: [name.kind, name.namespace || '-', name.name], signal });
    }
    const note = mode === 'apply' ? '' : ` (${mode} dry run)`;
    await out.write(`${shownIdentity(nameKey(name))} pruned${note}\n`);
  }
}
