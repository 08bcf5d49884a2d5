/** configMap: the keys of a ConfigMap as files. Source: volume sources, document 3 §2.1 and §2.3. */

import { defineSource, type SourcePlugin } from '../contract/source.ts';
import { DEFAULT_MODE } from '../files/payload.ts';
import { configMapContent, setUpContent } from './content.ts';

export const configMap: SourcePlugin = defineSource(
  'configMap',
  { summary: 'The keys of a ConfigMap as files.', use: 'pod' },
  async (spec, request) => {
    const content = await configMapContent(request, spec, spec.defaultMode ?? DEFAULT_MODE);
    return setUpContent(request, { dirName: 'configmap', memory: false }, content);
  },
);
