/** Pods for the API server rows, with the size of typical pods. */

export const NAMESPACE = 'default';

export const podsPath = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

export const PODS_PATH: string = podsPath(NAMESPACE);
/** Number of groups of pods, each with a common label. */
export const GROUPS = 10;

export const podName = (index: number): string => `pod-${index}`;

/** Returns the JSON of a pod. */
export function podBody(index: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(index),
      labels: { app: `app-${index % GROUPS}`, tier: index % 2 === 0 ? 'front' : 'back' },
      annotations: { note: 'x'.repeat(100) },
    },
    spec: {
      nodeName: `node-${index % 50}`,
      containers: [
        {
          name: 'main',
          image: 'registry.example/app:1.2.3',
          command: ['/bin/app', '--serve'],
          env: [
            { name: 'MODE', value: 'fast' },
            { name: 'LEVEL', value: '2' },
          ],
          ports: [{ containerPort: 8080, name: 'http' }],
          resources: {
            requests: { cpu: '100m', memory: '64Mi' },
            limits: { cpu: '200m', memory: '128Mi' },
          },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
          readinessProbe: { httpGet: { path: '/ready', port: 8080 } },
        },
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  });
}
