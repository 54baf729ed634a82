import type { Cloud } from "../config/schema.ts";

/**
 * Public regions at the end of 2026, used to detect typos (Amazon EC2 User Guide, "Regions and zones"; Azure documentation, "List of Azure
 * regions"). Clouds add regions, so one that is not listed is not an error.
 */
export const knownRegions: Readonly<Record<Cloud, readonly string[]>> = {
  aws: [
    ...["us-east-1", "us-east-2", "us-west-1", "us-west-2", "us-gov-east-1", "us-gov-west-1"],
    ...["ca-central-1", "ca-west-1", "mx-central-1", "sa-east-1", "af-south-1", "il-central-1"],
    ...["me-central-1", "me-south-1", "ap-east-1", "ap-east-2", "ap-south-1", "ap-south-2"],
    ...["ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-southeast-1", "ap-southeast-2"],
    ...["ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7"],
    ...["eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3"],
  ],
  azure: [
    ...["eastus", "eastus2", "centralus", "northcentralus", "southcentralus", "westcentralus", "westus", "westus2"],
    ...["westus3", "canadacentral", "canadaeast", "brazilsouth", "brazilsoutheast", "mexicocentral", "chilecentral"],
    ...["northeurope", "westeurope", "uksouth", "ukwest", "francecentral", "francesouth", "germanywestcentral"],
    ...["germanynorth", "switzerlandnorth", "switzerlandwest", "norwayeast", "norwaywest", "swedencentral"],
    ...["swedensouth", "polandcentral", "italynorth", "spaincentral", "austriaeast", "belgiumcentral", "denmarkeast"],
    ...["israelcentral", "qatarcentral", "uaenorth", "uaecentral", "southafricanorth", "southafricawest"],
    ...["centralindia", "southindia", "westindia", "eastasia", "southeastasia", "indonesiacentral", "malaysiawest"],
    ...["japaneast", "japanwest", "koreacentral", "koreasouth", "australiaeast", "australiasoutheast"],
    ...["australiacentral", "australiacentral2", "newzealandnorth", "usgovvirginia", "usgovarizona", "usgovtexas"],
  ],
};
