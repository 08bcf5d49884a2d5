import { expect, test } from 'vitest';
import { renderGuide } from './guide.ts';

test('all commands of the guide start in the same column', () => {
  const guide = renderGuide({
    repository: '/r',
    workingDir: '/r',
    manifests: '/m',
    agentLog: '/l',
    lines: [],
    foreground: false,
    sudo: true,
  });
  const rows = guide.split('\n').filter((line) => line.startsWith('  '));
  const columns = new Set(rows.map((row) => row.search(/(?<=\S {3,})\S/)));
  expect(rows).toHaveLength(9);
  expect(columns.size).toBe(1);
});
