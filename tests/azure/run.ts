/** Type of an Azure resource: `network:Subnet` stands for `azure-native:network:Subnet`. */
export function azureType(short: string): string {
  return `azure-native:${short}`;
}
