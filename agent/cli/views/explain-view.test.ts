import { describe, expect, test } from 'vitest';
import { explainFields, findNode } from './explain-view.ts';

function explain(kind: string, path: string, recursive = false): string {
  const fields = path === '' ? [] : path.split('.');
  const node = findNode(kind, fields);
  return node.kind === 'unknown' ? node.message : explainFields(kind, fields, node.type, recursive);
}

describe('explain', () => {
  test('shows fields with types, defaults and requirements', () => {
    const text = explain('Pod', 'spec.containers');
    expect(text).toMatch(/^pod\.spec\.containers {2}<\[\]Container>\n/);
    expect(text).toMatch(/^name +string +required/m);
    expect(text).toMatch(/^livenessProbe +Probe/m);
  });

  test('shows a field without fields', () => {
    expect(explain('ConfigMap', 'data')).toBe('configmap.data  <map<string,string>>\n');
  });

  test('shows fields of fields up to a depth, although types contain themselves', () => {
    expect(explain('Pod', 'spec', true)).toMatch(/^ {2}livenessProbe +Probe/m);
    expect(explain('CSIDriver', '', true)).toMatch(/^spec +CSIDriverSpec/m);
  });

  test('suggests the nearest field', () => {
    expect(explain('Pod', 'spec.container')).toBe(
      'pod.spec has no field "container"; did you mean containers?',
    );
    expect(explain('Pod', 'spec.nodeName.x')).toBe('pod.spec.nodeName has no field "x"');
  });
});
