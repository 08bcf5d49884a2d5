import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { effectiveSettings } from './effective.ts';
import { renderHelp } from './flags/yargs.ts';
import { type LoadResult, loadConfig } from './load.ts';
import { SETTINGS } from './table.ts';

const HEAD = `kind: ${VOCABULARIES.plat.configKind}\napiVersion: ${VOCABULARIES.plat.configApiGroup}/v1beta1\n`;

async function load(argv: readonly string[], file = ''): Promise<Extract<LoadResult, { kind: 'ok' }>> {
  const result = await loadConfig(argv, { cwd: '/', readFile: () => Promise.resolve(`${HEAD}${file}`) });
  if (result.kind !== 'ok') throw new Error(JSON.stringify(result));
  return result;
}

test('settings without effect are named in one line, and never as deprecated', async () => {
  const { warnings } = await load(
    ['--config=/c', '--chaos-chance=0.5', '--redirect-container-streaming', '--feature-gates=WinDSR=true'],
    'showHiddenMetricsForVersion: "1.23"\n',
  );
  expect(warnings).toEqual([
    'Deprecated flags: set these in the file given by --config: --feature-gates (featureGates)',
    'Without effect, ignored: /c:showHiddenMetricsForVersion (no metric is hidden), ' +
      '--chaos-chance (it is for upstream tests only), ' +
      '--redirect-container-streaming (upstream removed it; streams are always proxied by the agent), ' +
      'feature gate WinDSR (nodes run Linux)',
  ]);
});

test.each([['--really-crash-for-testing=false'], ['--cloud-config=']])(
  '%s equals the actual behaviour',
  async (flag) => {
    expect((await load([flag])).warnings).toEqual([]);
  },
);

test('every setting without effect is marked in the help and in the view of the configuration', async () => {
  const [help, { config, origins }] = await Promise.all([renderHelp(), load([])]);
  const entries = help.split(/\n(?= +-)/);
  const notes = new Map(effectiveSettings(config, origins).map(({ key, note }) => [key, note]));
  for (const { key, flags, acted } of SETTINGS) {
    if (key === 'help' || key === 'version') continue;
    expect([key, notes.get(key) !== '']).toEqual([key, acted !== true]);
    for (const { name } of flags) {
      const entry = entries.find((text) => new RegExp(`^ +(?:-\\w, )?-{1,2}${name}[, ]`).test(text)) ?? '';
      const marks = [entry.includes('NO EFFECT'), acted !== true && entry.includes('(deprecated')];
      expect([name, ...marks]).toEqual([name, acted !== true, false]);
    }
  }
});

test('the view names the gates without effect', async () => {
  const { config, origins } = await load([
    '--feature-gates=CPUManager=true,WinDSR=true,PodAndContainerStatsFromCRI=true',
  ]);
  const row = effectiveSettings(config, origins).find(({ key }) => key === 'featureGates');
  expect(row?.note).toBe('WinDSR (ignored: nodes run Linux)');
});
