import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { formatTable } from '../views/table.ts';
import { cellPainter } from './colors.ts';
import { customRow, parseCustomColumns } from './custom-columns.ts';
import { parseRelaxedPath } from './jsonpath-template.ts';
import { parseDataFormat, parseOutputFormat } from './output-format.ts';
import { printObjects } from './print.ts';
import { createSelector } from './select.ts';
import { sortByPath } from './sort-by.ts';

const WEB = {
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web', tier: 'front' } },
  spec: { nodeName: 'n1', containers: [{ image: 'a' }, { image: 'b' }] },
  status: { phase: 'Running' },
};

describe('output formats', () => {
  test.each([
    [undefined, { kind: 'table', wide: false }],
    ['wide', { kind: 'table', wide: true }],
    ['json', { kind: 'json' }],
    ['yaml', { kind: 'yaml' }],
    ['name', { kind: 'name' }],
  ])('%s', (text, format) => {
    expect(parseOutputFormat(text)).toEqual(format);
  });

  test.each([
    ['xml', /must be one of wide, json/],
    ['jsonpath', /requires a value: -o jsonpath=/],
    ['jsonpath={.a', /jsonpath: "\{" at character 1/],
    ['custom-columns=', /requires a value/],
    ['custom-columns=NAME', /must have the form HEADING:PATH/],
    ['go-template={{.}}', /Go templates are not supported; use jsonpath/],
  ])('%s is invalid', (text, message) => {
    expect(() => parseOutputFormat(text)).toThrow(UsageError);
    expect(() => parseOutputFormat(text)).toThrow(message);
  });

  test('a view that is no list has neither names nor columns', () => {
    expect(parseDataFormat(undefined)).toBeUndefined();
    expect(parseDataFormat('yaml')).toEqual({ kind: 'yaml' });
    for (const text of ['name', 'wide', 'custom-columns=A:.a']) {
      expect(() => parseDataFormat(text)).toThrow(/must be json, yaml or jsonpath/);
    }
  });
});

describe('custom columns', () => {
  test('commas in brackets do not separate columns', () => {
    const columns = parseCustomColumns(
      "NAME:.metadata.name,IMAGES:.spec.containers[*].image,TWO:.metadata['name','namespace'],NONE:.x",
    );
    expect(columns.map(({ heading }) => heading)).toEqual(['NAME', 'IMAGES', 'TWO', 'NONE']);
    expect(customRow(columns, WEB)).toEqual(['web', 'a,b', 'web,shop', '<none>']);
  });

  test('headings can be omitted', async () => {
    let out = '';
    const output = { write: (text: string | Uint8Array) => Promise.resolve(void (out += String(text))) };
    const format = { kind: 'custom-columns', columns: parseCustomColumns('A:.kind') } as const;
    await printObjects(output, format, [WEB], { single: false, headings: false });
    expect(out).toBe('Pod\n');
  });
});

describe('sorting', () => {
  test.each([
    [
      ['web-10', 'web-9', 'web-1'],
      ['web-1', 'web-9', 'web-10'],
    ],
    [
      ['1Gi', '500Mi', '2k'],
      ['2k', '500Mi', '1Gi'],
    ],
    [
      [10, 9, 2n ** 60n],
      [9, 10, 2n ** 60n],
    ],
    [
      [true, false],
      [false, true],
    ],
    [
      ['2026-11-28T10:00:00Z', '2026-11-28T09:00:00Z'],
      ['2026-11-28T09:00:00Z', '2026-11-28T10:00:00Z'],
    ],
    [
      ['b', undefined, 'a'],
      [undefined, 'a', 'b'],
    ],
  ])('%j', (values, expected) => {
    const sorted = sortByPath(
      values.map((value) => ({ value })),
      parseRelaxedPath('.value'),
    );
    expect(sorted.map(({ value }) => value)).toEqual(expected);
  });
});

describe('selectors', () => {
  test.each([
    [{ labels: 'app=web', fields: undefined }, true],
    [{ labels: 'app in (web,db),!old', fields: undefined }, true],
    [{ labels: 'app!=web', fields: undefined }, false],
    [{ labels: undefined, fields: 'status.phase=Running,spec.nodeName=n1' }, true],
    [{ labels: undefined, fields: 'metadata.namespace!=shop' }, false],
    [{ labels: undefined, fields: 'status.podIP=' }, true],
    [{ labels: 'app=web', fields: 'metadata.name=db' }, false],
  ])('%j', (texts, expected) => {
    expect(createSelector('Pod', texts)(WEB)).toBe(expected);
  });

  test('an event is selected by the component that reported it', () => {
    const select = createSelector('Event', { labels: undefined, fields: 'source=scheduler,type=Normal' });
    expect(select({ type: 'Normal', source: { component: 'scheduler' } })).toBe(true);
  });

  test.each([
    [
      { labels: 'a=', fields: 'spec.x=1' },
      /"spec\.x" is not a selectable field of Pod; selectable: metadata\.name/,
    ],
    [{ labels: 'a in b', fields: undefined }, /--selector: selector "a in b"/],
    [{ labels: undefined, fields: 'phase' }, /--field-selector: .*field=value/],
  ])('%j is invalid', (texts, message) => {
    expect(() => createSelector('Pod', texts)).toThrow(UsageError);
    expect(() => createSelector('Pod', texts)).toThrow(message);
  });
});

describe('colors', () => {
  const terminal = () => ({ columns: 80, rows: 24 });
  const write = () => Promise.resolve();

  test.each([
    [{ write, terminal }, {}, true],
    [{ write }, {}, false],
    [{ write, terminal }, { NO_COLOR: '1' }, false],
    [{ write, terminal }, { NO_COLOR: '', TERM: 'dumb' }, false],
    [{ write }, { FORCE_COLOR: '1' }, true],
    [{ write }, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ])('%j with %j: %s', (out, env, expected) => {
    expect(cellPainter({ out, env }) !== undefined).toBe(expected);
  });

  test('colors change no width, and cells stay printable', () => {
    const paint = cellPainter({ out: { write, terminal }, env: {} });
    const table = formatTable(
      ['NAME', 'STATUS', 'AGE'],
      [
        ['web', 'Running', '1s'],
        ['\u001b[2J', 'Error', '2s'],
      ],
      paint,
    );
    expect(table).toBe(
      'NAME      STATUS    AGE\nweb       \u001B[32mRunning\u001B[39m   1s\n\\x1b[2J   \u001B[31mError\u001B[39m     2s\n',
    );
  });
});
