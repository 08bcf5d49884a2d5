/** Resource version semantics of get, list and watch. Document 1 §4.6 and 7. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, configMap, type Reply, usePlane } from './support.ts';

const namesOf = ({ items }: Body): readonly (string | undefined)[] =>
  items.map(({ metadata }) => metadata.name);

/** Requirement of a cell of the table. */
type Cell =
  /** The newest state. */
  | 'most recent'
  /** Any state, which here is the newest. */
  | 'any'
  | 'not older'
  /** The state of the version, complete or its first page. */
  | 'exact'
  /** The rest of the list that the token is of. */
  | 'continue'
  | 400
  | 422;

const MATCHES = {
  unset: '',
  Exact: '&resourceVersionMatch=Exact',
  NotOlderThan: '&resourceVersionMatch=NotOlderThan',
};
const PAGES = { 'no limit': '', limit: '&limit=1', 'limit and continue': '&limit=5&continue=' };
const VERSIONS = ['unset', '0', 'other'] as const;

/** Rows as in the document; the invalid ones are 422, but for that where the document says 400. */
const TABLE: readonly (readonly [keyof typeof MATCHES, keyof typeof PAGES, readonly [Cell, Cell, Cell]])[] = [
  ['unset', 'no limit', ['most recent', 'any', 'not older']],
  ['unset', 'limit', ['most recent', 'any', 'exact']],
  ['unset', 'limit and continue', ['continue', 'continue', 400]],
  ['Exact', 'no limit', [422, 422, 'exact']],
  ['Exact', 'limit', [422, 422, 'exact']],
  ['Exact', 'limit and continue', [422, 422, 422]],
  ['NotOlderThan', 'no limit', [422, 'any', 'not older']],
  ['NotOlderThan', 'limit', [422, 'any', 'not older']],
  ['NotOlderThan', 'limit and continue', [422, 422, 422]],
];
const CELLS = TABLE.flatMap(([match, page, cells]) =>
  cells.map((cell, index) => ({ match, page, version: VERSIONS[index] ?? 'unset', cell })),
);

type Row = Omit<(typeof CELLS)[number], 'cell'>;

/** Expected names in the response of each cell. */
const SHOWN = {
  'most recent': ['b', 'c'],
  any: ['b', 'c'],
  'not older': ['b', 'c'],
  exact: ['a', 'b'],
  continue: ['b'],
};

describe('resourceVersion', () => {
  const plane = usePlane();
  let path = '';
  /** Version at which there are `a` and `b`; now there are `b` and `c`. */
  let middle = '';
  /** Where the second page goes on, and the version of the first: others write too, so it may be after `middle`. */
  let token = '';
  let firstPage = '';
  beforeAll(async () => {
    path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a'));
    middle = (await plane.post(path, configMap('b'))).body.metadata.resourceVersion ?? '';
    const page = await plane.get(`${path}?limit=1`);
    token = page.body.metadata.continue ?? '';
    firstPage = page.body.metadata.resourceVersion ?? '';
    await plane.delete(`${path}/a`);
    await plane.post(path, configMap('c'));
  });

  async function list({ match, page, version }: Row): Promise<Reply> {
    const resourceVersion = { unset: '', 0: '0', other: middle }[version];
    const pages = page === 'limit and continue' ? `${PAGES[page]}${token}` : PAGES[page];
    return await plane.get(`${path}?resourceVersion=${resourceVersion}${MATCHES[match]}${pages}`);
  }

  test.each(CELLS.filter(({ cell }) => typeof cell === 'number'))(
    'list: match $match, $page, version $version is refused: $cell',
    async (row) => {
      const reason = row.cell === 400 ? 'BadRequest' : 'Invalid';
      expect(await list(row)).toMatchObject({ status: row.cell, body: { kind: 'Status', reason } });
    },
  );

  test.each(CELLS.flatMap((row) => (typeof row.cell === 'number' ? [] : [{ ...row, cell: row.cell }])))(
    'list: match $match, $page, version $version: $cell',
    async (row) => {
      const { status, body } = await list(row);
      const shown = SHOWN[row.cell];
      expect(status).toBe(200);
      expect(namesOf(body)).toEqual(row.page === 'limit' ? shown.slice(0, 1) : shown);
      const { resourceVersion: version } = body.metadata;
      // Any other cell shows the newest state, which is after `middle`.
      const fixed = new Map<string, string>([
        ['exact', middle],
        ['continue', firstPage],
      ]).get(row.cell);
      expect(fixed === undefined || fixed === version).toBe(true);
      expect(Number(version) > Number(middle) || fixed === version).toBe(true);
    },
  );

  test.each(['', '0', 'middle'])(
    'get with version %j shows the newest object or a later one',
    async (text) => {
      const version = text === 'middle' ? middle : text;
      const { status, body } = await plane.get(`${path}/c?resourceVersion=${version}`);
      expect({ status, name: body.metadata.name }).toEqual({ status: 200, name: 'c' });
    },
  );

  test.each(['', '&resourceVersion=0'])('a watch with %j begins with the state', async (version) => {
    await using stream = await plane.watch(`${path}?watch=1${version}`);
    expect(await stream.take(2)).toEqual(['ADDED b', 'ADDED c']);
  });

  test('a watch from another version has the changes after it only', async () => {
    await using stream = await plane.watch(`${path}?watch=1&resourceVersion=${middle}`);
    expect(await stream.take(2)).toEqual(['DELETED a', 'ADDED c']);
  });

  test('most recent is what was written before, wherever it is read', async () => {
    const own = `${await plane.namespace()}/configmaps`;
    for (let round = 0; round < 20; round += 1) {
      await plane.post(own, configMap(`m${round}`));
      expect((await plane.get(own)).body.items).toHaveLength(round + 1);
      expect((await plane.get(`${own}/m${round}`)).status).toBe(200);
    }
  });

  test("an item's version is that of its last change", async () => {
    const { body } = await plane.get(`${path}?limit=1`);
    expect(body.items[0]?.metadata.resourceVersion).toBe(middle);
    expect(body.metadata.resourceVersion).not.toBe(middle);
  });

  test.each(['x', '-1', '1.5', '99999999999999999999999'])('%j is no version (400)', async (version) => {
    for (const query of [path, `${path}/b`, `${path}?watch=1`]) {
      const joined = `${query}${query.includes('?') ? '&' : '?'}resourceVersion=${version}`;
      expect(await plane.get(joined)).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    }
  });

  test('a match that is none, and one for a watch, are refused', async () => {
    for (const query of [
      'resourceVersion=1&resourceVersionMatch=Nearly',
      'watch=1&resourceVersion=1&resourceVersionMatch=Exact',
    ]) {
      expect(await plane.get(`${path}?${query}`)).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    }
  });

  test('a version that does not come is 504 with Retry-After and "Too large resource version"', async () => {
    const far = Number(middle) + 1_000_000;
    const requested = [`${path}?resourceVersion=${far}`, `${path}/b?resourceVersion=${far}`];
    for (const response of await Promise.all(requested.map((query) => plane.get(query)))) {
      expect(response).toMatchObject({
        status: 504,
        headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as unknown },
        body: { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
      });
      expect(response.body.message).toContain('Too large resource version');
    }
  });

  test('a version that comes soon is waited for', async () => {
    const next = Number(await plane.revision()) + 1;
    const requested = plane.get(`${path}?resourceVersion=${next}`);
    await plane.patch(`${path}/b`, { data: { now: String(next) } });
    const { status, body } = await requested;
    expect(status).toBe(200);
    expect(Number(body.metadata.resourceVersion)).toBeGreaterThanOrEqual(next);
  });

  test('a watch from a version that is yet to come waits until its time is up', async () => {
    const far = Number(middle) + 1_000_000;
    await using stream = await plane.watch(`${path}?watch=1&timeoutSeconds=1&resourceVersion=${far}`);
    expect(stream.status).toBe(200);
    expect(await stream.next()).toBeUndefined();
  });
});
