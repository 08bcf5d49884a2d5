import { expect, test } from 'vitest';
import { dependentsOf } from './affected.ts';
import { dependenciesOf, readDependencies } from './dependencies.ts';

test('imports and names in a text are dependencies, each once', () => {
  const byName = new Map([
    ['a.ts', ['x/a.ts']],
    ['writer.ts', ['x/testing/writer.ts']],
    ['rules.json', ['x/data/rules.json']],
  ]);
  const text = [
    "import { a } from './a.ts';",
    "const program = join(import.meta.dirname, 'testing/writer.ts');",
    "const data = join(folder, 'data', 'rules.json');",
    "const unknown = 'b.ts';",
  ].join('\n');
  expect(dependenciesOf('x/b.ts', text, byName)).toEqual([
    { from: 'x/b.ts', to: 'x/a.ts', isMention: false },
    { from: 'x/b.ts', to: 'x/testing/writer.ts', isMention: true },
    { from: 'x/b.ts', to: 'x/data/rules.json', isMention: true },
  ]);
});

test('tests that start a program or read data depend on it', () => {
  const changed = [
    'control-plane-lite/store/crash-writer.fixture.ts',
    'api-machinery/schema/data/defaults.json',
  ];
  const dependents = dependentsOf(readDependencies(changed), changed);
  expect([...dependents.keys()]).toEqual(
    expect.arrayContaining([
      'control-plane-lite/store/embedded/crash.node.test.ts',
      'api-machinery/schema/default-rules.test.ts',
    ]),
  );
});
