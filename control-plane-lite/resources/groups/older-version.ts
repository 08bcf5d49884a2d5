/** Older versions of kinds with the same fields as the stored version: only `apiVersion` differs. */
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { wireGroup } from '../facts.ts';

export interface OlderVersion {
  /** Neutral name without the domain: `batch`, `node`. */
  readonly group: string;
  /** Whether the group's name ends in the domain. */
  readonly hasDomain?: boolean;
  readonly version: string;
  readonly stored: string;
}

/** The entry of the older version; the stored version's strategy decides. */
export function olderVersion(
  entry: KindEntry,
  { group, hasDomain = false, version, stored }: OlderVersion,
  vocabulary: Vocabulary,
): KindEntry {
  const factGroup = hasDomain ? `${group}.${VOCABULARIES.plat.apiGroupDomain}` : group;
  const rename =
    (to: string) =>
    (draft: ApiObject): ApiObject => {
      draft.apiVersion = `${wireGroup(factGroup, vocabulary)}/${to}`;
      return draft;
    };
  return {
    ...entry,
    storedAs: {
      group: factGroup,
      version: stored,
      conversion: { toStorage: rename(stored), fromStorage: rename(version) },
    },
  };
}
