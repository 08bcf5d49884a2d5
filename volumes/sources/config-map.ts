/** configMap: the keys of a ConfigMap as files. Spec: document 3, 2.1 and 2.3. */
import { DEFAULT_MODE } from '../payload.ts';
import { configMapContent, setUpContent } from './content.ts';
import { defineSource, type SourcePlugin } from './source.ts';

export const configMap: SourcePlugin = defineSource(
  'configMap',
  { summary: 'The keys of a ConfigMap as files.', use: 'pod' },
  async (spec, request) => {
    const content = await configMapContent(request, spec, spec.defaultMode ?? DEFAULT_MODE);
    return setUpContent(request, { dirName: 'configmap', memory: false }, content);
  },
);
