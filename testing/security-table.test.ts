/** Checks `docs/security.md`: rows of vulnerabilities have an outcome with a test or a reason, the named tests
 *  exist, and the settings of the hardening guides are those of the programs. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfigFile } from '#agent/config/file.ts';
import { SETTINGS as AGENT_SETTINGS } from '#agent/config/table.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { parseConfig } from '#plane/config/parse.ts';
import { SETTINGS as SERVER_SETTINGS } from '#plane/config/settings.ts';

const ROOT = join(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');

/** Returns the text below a heading of the second level. */
function sectionOf(title: string): string {
  const [, after = ''] = page.split(`\n## ${title}\n`);
  return after.split('\n## ')[0] ?? '';
}

interface Row {
  readonly name: string;
  readonly outcome: string;
  readonly evidence: string;
}

/** Returns the rows of the tables whose last columns are the outcome and the test or reason. */
const rowsOf = (text: string): readonly Row[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|--'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map((cells) => ({ name: cells[1] ?? '', outcome: cells.at(-3) ?? '', evidence: cells.at(-2) ?? '' }))
    .filter(({ outcome }) => outcome !== 'outcome');

interface Evidence {
  readonly path: string;
  /** Title of a test in the file, or a part of it; empty: the whole file. */
  readonly title: string;
}

/** Returns the tests of a cell such as `a.test.ts`: its title; `b.test.ts`. */
const testsIn = (text: string): readonly Evidence[] =>
  text
    .split(/[,;] (?=`[\w./-]+\.test\.ts`)|; /)
    .map((part) => /`([\w./-]+\.test\.ts)`(?:: (.+))?$/.exec(part))
    .flatMap((match) => (match === null ? [] : [{ path: match[1] ?? '', title: match[2] ?? '' }]));

const exists = ({ path, title }: Evidence): boolean =>
  existsSync(join(ROOT, path)) && readFileSync(join(ROOT, path), 'utf8').includes(title);

const published = rowsOf(sectionOf('Published vulnerabilities'));
const others = rowsOf(sectionOf('Other attacks'));
const rows = [...published, ...others];

describe('vulnerabilities', () => {
  test('are in the tables, each once', () => {
    const names = published.flatMap(({ name }) => name.split(', '));
    expect(names.filter((name) => !/^CVE-20(?:1[7-9]|2\d)-\d{4,7}$/.test(name))).toEqual([]);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect([names.length > 120, others.length > 25]).toEqual([true, true]);
  });

  test.each(rows)('$name: $outcome', ({ outcome, evidence }) => {
    expect(outcome).toMatch(/^(?:safe|setting|absent)$/);
    const tests = testsIn(evidence);
    expect(outcome === 'absent' || tests.length > 0).toBe(true);
    expect(evidence.length).toBeGreaterThan(10);
    expect(tests.filter((each) => !exists(each))).toEqual([]);
  });
});

const FLAG = /(?<![\w-])--([a-z][\w-]+)/g;
const flagsIn = (text: string): readonly string[] => [...text.matchAll(FLAG)].map(([, flag = '']) => flag);

const CONFIGURATION = {
  apiVersion: `${VOCABULARIES.plat.configApiGroup}/v1beta1`,
  kind: 'NodeAgentConfiguration',
};

const firstCells = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|')[1] ?? '');

describe('hardening guides', () => {
  const ofServer = new Set(
    Object.values(SERVER_SETTINGS).flatMap((setting) => [setting.flag, ...(setting.aliases ?? [])]),
  );
  const ofAgent = new Set(AGENT_SETTINGS.flatMap(({ flags }) => flags.map(({ name }) => name)));
  const agentGuide = sectionOf('Hardening nodeagent');
  const serverGuide = sectionOf('Hardening control-plane-lite');

  test.each([
    ['control-plane-lite', serverGuide, ofServer],
    ['nodeagent', agentGuide, ofAgent],
  ])('of %s name its flags', (_, guide, known) => {
    const flags = flagsIn(guide);
    expect(flags.length).toBeGreaterThan(2);
    expect(flags.filter((flag) => !known.has(flag))).toEqual([]);
  });

  test('of control-plane-lite has valid flags', () => {
    const [, command = ''] = /```sh\ncontrol-plane-lite ([\s\S]*?)```/.exec(serverGuide) ?? [];
    const config = parseConfig(command.trim().split(/[\s\\]+/));
    expect(config.enableAdmissionPlugins.length).toBeGreaterThan(3);
  });

  test('of nodeagent has a valid configuration', () => {
    const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(agentGuide) ?? [];
    const { apiVersion, kind } = CONFIGURATION;
    const { errors, warnings } = readConfigFile(
      `apiVersion: ${apiVersion}\nkind: ${kind}\n${yaml}`,
      '/c.yaml',
    );
    expect([errors, warnings]).toEqual([[], []]);
  });

  test('of nodeagent names fields of its configuration', () => {
    const keys = new Set(AGENT_SETTINGS.map(({ key }) => key));
    const fields = firstCells(agentGuide)
      .flatMap((cell) => [...cell.matchAll(/`([a-z][A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*)(?::[^`]*)?`/g)])
      .map(([, field = '']) => field)
      .filter((field) => field !== 'false' && field !== 'https');
    expect(fields.length).toBeGreaterThan(10);
    expect(fields.filter((field) => !keys.has(field))).toEqual([]);
  });
});
