import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../admission/contract.ts';
import { createAdmissionMetrics } from '../admission/metrics.ts';
import { createAdmissionChain } from './verbs.ts';

function setUp(plugins: readonly AdmissionPlugin[]) {
  const clock = createFakeClock();
  const registry = createMetricsRegistry();
  const chain = createAdmissionChain(plugins, { clock, metrics: createAdmissionMetrics(registry) });
  const request = {
    operation: 'CREATE',
    resource: { info: { group: '', plural: 'pods' } },
  } as unknown as AdmissionRequest;
  const seriesOf = (name: string): readonly string[] =>
    registry
      .text()
      .split('\n')
      .filter((line) => line.startsWith(`apiserver_admission_${name}`));
  return { clock, chain, request, seriesOf };
}

describe('metrics of admission', () => {
  test('measure each plugin that the request concerns, and all of a phase', async () => {
    const { clock, chain, request, seriesOf } = setUp([
      { name: 'Quick', operations: ['CREATE'], mutate: () => undefined },
      { name: 'Slow', operations: ['CREATE'], mutate: () => clock.advance(300) },
      { name: 'Validator', operations: ['CREATE'], validate: () => undefined },
      { name: 'Other', operations: ['DELETE'], mutate: () => undefined },
      { name: 'Elsewhere', operations: ['CREATE'], resources: new Set(['/nodes']), mutate: () => undefined },
    ]);
    await chain.mutate(request);
    await chain.validate(request);
    await chain.mutate(request);
    const labels = 'type="admit",operation="CREATE",rejected="false"';
    expect(seriesOf('controller_admission_duration_seconds_count')).toEqual([
      `apiserver_admission_controller_admission_duration_seconds_count{name="Quick",${labels}} 2`,
      `apiserver_admission_controller_admission_duration_seconds_count{name="Slow",${labels}} 2`,
      `apiserver_admission_controller_admission_duration_seconds_count{name="Validator",${labels.replace('admit', 'validate')}} 1`,
    ]);
    expect(seriesOf('controller_admission_duration_seconds_sum')).toContain(
      `apiserver_admission_controller_admission_duration_seconds_sum{name="Slow",${labels}} 0.6`,
    );
    expect(seriesOf('step_admission_duration_seconds_sum')).toContain(
      `apiserver_admission_step_admission_duration_seconds_sum{${labels}} 0.6`,
    );
  });

  test('a rejection is the plugin’s that rejected, and that of the phase', async () => {
    const never = (): never => {
      throw new Error('must not be called');
    };
    const { chain, request, seriesOf } = setUp([
      { name: 'First', operations: ['CREATE'], validate: () => undefined },
      { name: 'Second', operations: ['CREATE'], validate: () => Promise.reject(new Error('no')) },
      { name: 'Third', operations: ['CREATE'], validate: never },
    ]);
    await expect(chain.validate(request)).rejects.toThrow('no');
    const counted = [
      ...seriesOf('controller_admission_duration_seconds_count'),
      ...seriesOf('step_admission_duration_seconds_count'),
    ];
    expect(counted.filter((line) => line.endsWith(' 1'))).toEqual([
      'apiserver_admission_controller_admission_duration_seconds_count{name="First",type="validate",operation="CREATE",rejected="false"} 1',
      'apiserver_admission_controller_admission_duration_seconds_count{name="Second",type="validate",operation="CREATE",rejected="true"} 1',
      'apiserver_admission_step_admission_duration_seconds_count{type="validate",operation="CREATE",rejected="true"} 1',
    ]);
  });
});
