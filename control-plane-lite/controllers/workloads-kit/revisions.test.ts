import { describe, expect, test } from 'vitest';
import { type Int64, MAX_INT64 } from '#api/kit/int64.ts';
import { childFacts } from './children.ts';
import { cachedOf } from './kit.fixture.ts';
import { decideRevision, outdatedRevisions, REVISION_LABEL, type RevisionFacts } from './revisions.ts';
import { revisionData } from './template-form.ts';

const template = (image: string): object => ({ spec: { containers: [{ name: 'main', image }] } });

function revisionOf(image: string, revision: Int64): RevisionFacts {
  const name = `web-${image}`;
  const metadata = { name, namespace: 'ns', uid: name, labels: { [REVISION_LABEL]: image } };
  const data = revisionData(template(image));
  const cached = cachedOf({ apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, data, revision });
  return { ...childFacts(cached), revision };
}

describe('decideRevision', () => {
  test('makes the first, and a newer one for another template', () => {
    expect(decideRevision(template('a'), [], undefined)).toMatchObject({ kind: 'create', revision: 1 });
    expect(decideRevision(template('b'), [revisionOf('a', 4)], undefined)).toMatchObject({
      kind: 'create',
      revision: 5,
    });
  });

  test('keeps the newest if it has the template', () => {
    const revisions = [revisionOf('a', 1), revisionOf('b', 2)];
    expect(decideRevision(template('b'), revisions, undefined)).toEqual({
      kind: 'keep',
      found: revisions[1],
    });
  });

  test('raises an older one that comes back', () => {
    const revisions = [revisionOf('a', 1), revisionOf('b', 2)];
    expect(decideRevision(template('a'), revisions, undefined)).toEqual({
      kind: 'raise',
      found: revisions[0],
      revision: 3,
    });
  });

  test('counts on where numbers are not exact any more, up to the last that there is', () => {
    const odd = 2n ** 53n + 1n;
    const revisions = [revisionOf('b', odd), revisionOf('a', 2n ** 53n), revisionOf('c', 7)];
    expect(decideRevision(template('d'), revisions, undefined)).toMatchObject({ revision: odd + 1n });
    expect(decideRevision(template('a'), revisions, undefined)).toMatchObject({
      kind: 'raise',
      revision: odd + 1n,
    });
    expect(decideRevision(template('b'), revisions, undefined).kind).toBe('keep');
    expect(decideRevision(template('d'), [revisionOf('a', MAX_INT64)], undefined)).toMatchObject({
      revision: MAX_INT64,
    });
    expect(outdatedRevisions(revisions, 1, () => false).map(({ name }) => name)).toEqual(['web-c', 'web-a']);
  });

  test('has another name after a collision', () => {
    const first = decideRevision(template('a'), [], undefined);
    expect(decideRevision(template('a'), [], 1)).not.toEqual(first);
  });
});

test('outdatedRevisions are the oldest beyond the limit that nothing lives by', () => {
  const revisions = [revisionOf('c', 3), revisionOf('a', 1), revisionOf('b', 2), revisionOf('d', 4)];
  const names = (limit: number): readonly string[] =>
    outdatedRevisions(revisions, limit, ({ name }) => name === 'web-a').map(({ name }) => name);
  expect(names(1)).toEqual(['web-b', 'web-c']);
  expect(names(3)).toEqual([]);
});
