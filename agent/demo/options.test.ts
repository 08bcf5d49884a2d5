import { describe, expect, test } from 'vitest';
import { renderGuide } from './guide.ts';
import { DemoRootError, demoLayout } from './layout.ts';
import { type DemoCommand, DemoUsageError, parseDemoOptions } from './options.ts';

describe('parseDemoOptions', () => {
  test.each<[readonly string[], DemoCommand]>([
    [[], { kind: 'start', runtime: { kind: 'managed' }, detach: false }],
    [['--detach'], { kind: 'start', runtime: { kind: 'managed' }, detach: true }],
    [['--machine-runtime'], { kind: 'start', runtime: { kind: 'machine' }, detach: false }],
    [
      ['--container-runtime-endpoint=/run/x.sock'],
      { kind: 'start', runtime: { kind: 'endpoint', endpoint: 'unix:///run/x.sock' }, detach: false },
    ],
    [
      ['--container-runtime=docker'],
      {
        kind: 'start',
        runtime: { kind: 'docker', endpoint: 'unix:///var/run/docker.sock' },
        detach: false,
      },
    ],
    [
      ['--container-runtime=docker', '--docker-endpoint=/run/d.sock'],
      { kind: 'start', runtime: { kind: 'docker', endpoint: 'unix:///run/d.sock' }, detach: false },
    ],
    [['--container-runtime=remote'], { kind: 'start', runtime: { kind: 'managed' }, detach: false }],
    [['--stop'], { kind: 'stop' }],
    [['--help', '--stop'], { kind: 'help' }],
  ])('%j', (argv, expected) => {
    expect(parseDemoOptions(argv)).toEqual(expected);
  });

  test.each([
    [['--stop', '--detach']],
    [['--machine-runtime', '--container-runtime-endpoint=/x']],
    [['--container-runtime-endpoint=tcp://1.2.3.4']],
    [['--container-runtime=rkt']],
    [['--container-runtime=docker', '--machine-runtime']],
    [['--docker-endpoint=/x']],
    [['--container-runtime=docker', '--stop']],
    [['--nonsense']],
    [['word']],
  ])('rejects %j', (argv) => {
    expect(() => parseDemoOptions(argv)).toThrow(DemoUsageError);
  });
});

describe('demoLayout', () => {
  test('puts everything below the root, with its own name', () => {
    const { name, root, containerd, ...paths } = demoLayout('/var/lib/demo');
    expect(root).toBe('/var/lib/demo');
    expect(name).not.toBe(demoLayout('/var/lib/other').name);
    const { rootDir, stateDir, socketPath } = containerd;
    const all: readonly string[] = [rootDir, stateDir, socketPath, ...Object.values<string>(paths)];
    expect(all.filter((path) => !path.startsWith('/var/lib/demo/'))).toEqual([]);
  });

  test.each(['/', '/home', 'relative/path', '/a/../b', '/a//b', `/var/${'x'.repeat(80)}`, '/a/b c'])(
    'rejects %s, which would be removed as a whole',
    (root) => {
      expect(() => demoLayout(root)).toThrow(DemoRootError);
    },
  );
});

describe('renderGuide', () => {
  test('names a running pod, and the command relative to the working directory', () => {
    const line = { ready: '1/1', restarts: 0, age: '', ip: '', settled: true };
    const text = renderGuide({
      repository: '/repo',
      workingDir: '/repo/docs',
      manifests: '/repo/examples/manifests',
      agentLog: '/log',
      lines: [
        { ...line, name: 'default/job', status: 'Completed' },
        { ...line, name: 'default/web', status: 'Running' },
      ],
      foreground: true,
      sudo: true,
    });
    expect(text).toContain('sudo ../nodeagent exec -it web -- sh');
    expect(text).toContain('Ctrl-C stops the agent');
  });
});
