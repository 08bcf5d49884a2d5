import { describe, expect, test } from 'vitest';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { addCertificateMetric } from './api-metrics.ts';
import { addBuildInfo } from './build-info.ts';
import { createRuntimeMetrics, operationOf } from './runtime-metrics.ts';
import { createVolumeMetrics, pluginNameOf } from './volume-metrics.ts';

describe('names of operations', () => {
  test.each([
    ['RunPodSandbox', 'run_podsandbox'],
    ['CreateContainer', 'create_container'],
    ['ExecSync', 'exec_sync'],
    ['PullImage', 'pull_image'],
    ['ImageFsInfo', 'image_fs_info'],
    ['UpdateContainerResources', 'update_container'],
    ['Version', 'version'],
  ])('%s is %s', (rpc, operation) => {
    expect(operationOf(rpc)).toBe(operation);
  });
});

test('calls of the runtime are counted with their errors and durations', () => {
  const registry = createMetricsRegistry();
  const metrics = createRuntimeMetrics(registry);
  metrics.called('PullImage', 250, undefined);
  metrics.called('PullImage', 10, new Error('no such image'));
  const text = registry.text();
  expect(text).toContain('runtime_operations_total{operation_type="pull_image"} 2');
  expect(text).toContain('runtime_operations_errors_total{operation_type="pull_image"} 1');
  expect(text).toContain('runtime_operations_duration_seconds_sum{operation_type="pull_image"} 0.26');
});

describe('volumes', () => {
  test.each([
    [{ name: 'a', emptyDir: {} }, 'test.io/empty-dir'],
    [{ name: 'a', secret: { secretName: 's' } }, 'test.io/secret'],
    [{ name: 'a', persistentVolumeClaim: { claimName: 'c' } }, 'test.io/persistent-claim'],
    [undefined, 'test.io/unknown'],
  ])('%j has plugin %s', (volume, plugin) => {
    expect(pluginNameOf(volume, 'test.io')).toBe(plugin);
  });

  test('are counted as desired and as set up', () => {
    const registry = createMetricsRegistry();
    const volume = { name: 'a', emptyDir: {} };
    const metrics = createVolumeMetrics(registry, { domain: 'test.io', desired: () => [volume] });
    metrics.operationDone(volume, 'mount', 5, true);
    metrics.operationDone(volume, 'mount', 5, false);
    const count = (state: string): string | undefined =>
      new RegExp(
        `total_volumes\\{plugin_name="test.io/empty-dir",state="${state}_state_of_world"\\} (\\d+)`,
      ).exec(registry.text())?.[1];
    expect([count('desired'), count('actual')]).toEqual(['1', '1']);
    metrics.operationDone(volume, 'unmount', 5, false);
    expect(count('actual')).toBe('0');
    expect(registry.text()).toContain('operation_name="volume_mount",status="fail-unknown"');
  });
});

test('certificates have their remaining lifetime, infinite without one', () => {
  const registry = createMetricsRegistry();
  let notAfterMs: number | undefined;
  addCertificateMetric(registry, 'client', { notAfterMs: () => notAfterMs, nowMs: () => 1000 });
  expect(registry.text()).toContain('certificate_manager_client_ttl_seconds +Inf');
  notAfterMs = 61_000;
  expect(registry.text()).toContain('certificate_manager_client_ttl_seconds 60');
});

test('the build is a metric of the platform', () => {
  const registry = createMetricsRegistry();
  addBuildInfo(registry, 'plat', { major: '1', minor: '24', version: '0.1.0', commit: 'abc' });
  expect(registry.text()).toMatch(/^plat_build_info\{major="1",minor="24",git_version="v0\.1\.0".*\} 1$/m);
});
