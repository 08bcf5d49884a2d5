import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { LongestFirst } from './testing/longest-first.ts';

/** Tests of what the runtime decides: lifecycle, probes, logs, volumes, adoption. */
const ON_DOCKER: string[] = [
  'e2e/lifecycle/restarts.node.test.ts',
  'e2e/lifecycle/probes.node.test.ts',
  'e2e/lifecycle/logs.node.test.ts',
  'e2e/lifecycle/termination.node.test.ts',
  'e2e/lifecycle/volumes.node.test.ts',
  'e2e/lifecycle/foreign.node.test.ts',
  'e2e/lifecycle/sandbox-death.node.test.ts',
  'e2e/lifecycle/container-config.node.test.ts',
  'e2e/lifecycle/init-containers.node.test.ts',
  'e2e/lifecycle/lost-root.node.test.ts',
  'e2e/faults/agent-restart.node.test.ts',
];

const config: ViteUserConfig = defineConfig({
  test: {
    // Node runs the sources as they are, in half of the time that Vite takes to transform them.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    // The second one records how long each file takes.
    reporters: ['default', './testing/duration-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [
            '**/*.node.test.ts',
            '**/*.e2e.test.ts',
            '**/*.stock.test.ts',
            '**/*.ceph.test.ts',
            'node_modules/**',
            '.cache/**',
          ],
          // Some start programs and wait for them, on a machine that may be busy with machines and their disks.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          // No module keeps state, so files need no process of their own; to load what they share for each again took
          // two thirds of the time.
          isolate: false,
          // One less than there are, unless given.
          maxWorkers: '100%',
        },
      },
      {
        test: {
          name: 'node',
          include: ['**/*.node.test.ts'],
          exclude: ['node_modules/**', '.cache/**'],
          globalSetup: ['./testing/containerd-setup.ts'],
          setupFiles: ['./testing/node-setup.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: { timeout: 30_000 } },
          // They wait for programs more than they compute: on two cores, four take two thirds of the time of two.
          maxWorkers: 4,
          // Projects with other numbers of workers run one after another.
          sequence: { groupOrder: 1 },
          // As the unit tests: each file would load the API server again, which takes longer than most tests of it.
          isolate: false,
        },
      },
      {
        // Files of project `node`, again on docker.
        test: {
          name: 'docker',
          include: ON_DOCKER,
          globalSetup: ['./testing/docker-setup.ts'],
          setupFiles: ['./testing/node-setup.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: { timeout: 30_000 } },
          maxWorkers: 4,
          sequence: { groupOrder: 4 },
          isolate: false,
        },
      },
      {
        test: {
          name: 'vm',
          include: ['e2e/vm/*.e2e.test.ts'],
          globalSetup: ['./e2e/vm/setup.ts'],
          // All is emulated, and what failed while a machine came up is tried again after ever longer times.
          testTimeout: 600_000,
          hookTimeout: 300_000,
          // Each machine has one processor.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['**/*.e2e.test.ts'],
          exclude: ['e2e/vm/**', 'node_modules/**', '.cache/**'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      {
        // Not of `npm test`: upstream's programs have to be built first.
        test: {
          name: 'stock',
          include: ['e2e/stock/**/*.stock.test.ts'],
          globalSetup: ['./e2e/stock/setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        // Not of `npm test`: the cluster's packages take longer than the tests.
        test: {
          name: 'ceph',
          include: ['e2e/vm/ceph/**/*.ceph.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
    ],
  },
});

export default config;
