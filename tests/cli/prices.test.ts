import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { refreshed } from "../../cli/prices.ts";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { stackConfig } from "../support/stacks.ts";

const specs = ["aws-dev", "azure-dev"].map((stack) => clusterSpec(loadConfig(stackConfig(stack))));

/** Price lists in the form of AWS's documentation: lines about the file, the head, rows in quotation marks. */
const head = [
  ...["SKU", "TermType", "StartingRange", "Unit", "PricePerUnit", "Product Family", "Instance Type", "vCPU", "Tenancy"],
  ...["usageType", "operation", "CapacityStatus", "Pre Installed S/W", "Volume API Name"],
];
const line = (values: Readonly<Record<string, string>>): string =>
  head.map((name) => (values[name] === undefined ? "" : `"${values[name]}"`)).join(",");
const csv = (...rows: readonly Readonly<Record<string, string>>[]): string =>
  [
    '"FormatVersion","v1.0"',
    '"Disclaimer","a ""list"", no offer"',
    head.map((name) => `"${name}"`).join(","),
    ...rows.map((row) => line({ TermType: "OnDemand", StartingRange: "0", Unit: "Hrs", ...row })),
  ].join("\n");
const machine = {
  "Instance Type": "m7i.large",
  vCPU: "2",
  Tenancy: "Shared",
  CapacityStatus: "Used",
  "Pre Installed S/W": "NA",
};
const lists: Readonly<Record<string, string>> = {
  AmazonEC2: csv(
    { ...machine, SKU: "1", operation: "RunInstances", PricePerUnit: "0.1200" },
    { ...machine, SKU: "2", operation: "RunInstances:0002", PricePerUnit: "0.2120" },
    { ...machine, SKU: "3", operation: "RunInstances", PricePerUnit: "0.08", TermType: "Reserved" },
    { ...machine, SKU: "4", operation: "RunInstances", PricePerUnit: "9", Tenancy: "Dedicated" },
    { ...machine, SKU: "5", operation: "RunInstances:0102", PricePerUnit: "9", "Pre Installed S/W": "SQL Std" },
    { SKU: "6", "Product Family": "Storage", "Volume API Name": "gp3", Unit: "GB-Mo", PricePerUnit: "0.0952" },
    { SKU: "7", "Product Family": "NAT Gateway", usageType: "EUC1-NatGateway-Hours", PricePerUnit: "0.052" },
    { SKU: "8", "Product Family": "NAT Gateway", usageType: "EUC1-NatGateway-Bytes", Unit: "GB", PricePerUnit: "9" },
    { SKU: "9", "Product Family": "Load Balancer-Network", usageType: "EUC1-LoadBalancerUsage", PricePerUnit: "0.027" },
  ),
  AmazonVPC: csv({ SKU: "1", usageType: "EUC1-PublicIPv4:InUseAddress", PricePerUnit: "0.005" }),
  awskms: csv({ SKU: "1", usageType: "eu-central-1-KMS-Keys", Unit: "Keys", PricePerUnit: "1" }),
};

const item = (values: object) => ({ type: "Consumption", skuName: "", meterName: "", productName: "", ...values });
const size = { armSkuName: "Standard_D2s_v5", skuName: "D2s v5" };

/** Items of Azure Retail Prices for a filter, on two pages for machines. */
function azureItems(filter: string, page: string | null): { readonly Items: readonly object[]; readonly more: boolean } {
  const has = (text: string): boolean => filter.includes(text);
  if (has("Virtual Machines")) {
    assert.ok(has("armRegionName eq 'westeurope'") && has("armSkuName eq 'Standard_D2s_v5'"));
    return page === null
      ? {
          more: true,
          Items: [
            item({ ...size, skuName: "D2s v5 Spot", productName: "Virtual Machines Dsv5 Series", retailPrice: 0.01 }),
            item({ ...size, type: "Reservation", productName: "Virtual Machines Dsv5 Series", retailPrice: 600 }),
          ],
        }
      : {
          more: false,
          Items: [
            item({ ...size, productName: "Virtual Machines Dsv5 Series", retailPrice: 0.115 }),
            item({ ...size, productName: "Virtual Machines Dsv5 Series Windows", retailPrice: 0.207 }),
          ],
        };
  }
  if (has("Storage"))
    return {
      more: false,
      Items: [item({ meterName: "P10 LRS Disk", retailPrice: 21.68 }), item({ meterName: "P10 LRS Disk Mount", retailPrice: 1 })],
    };
  if (has("Load Balancer")) return { more: false, Items: has("'Global'") ? [item({ retailPrice: 0.025 })] : [] };
  if (has("NAT Gateway")) return { more: false, Items: has("'Global'") ? [item({ retailPrice: 0.045 })] : [] };
  return { more: false, Items: [] };
}

describe("fenestra prices", () => {
  let server: Server;
  let base = "";
  before(async () => {
    server = createServer((request, response) => {
      const url = new URL(request.url ?? "", base);
      const [, offer = ""] = /^\/offers\/v1\.0\/aws\/(\w+)\/current\/eu-central-1\/index\.csv$/.exec(url.pathname) ?? [];
      if (lists[offer] !== undefined) return void response.end(lists[offer]);
      if (url.pathname !== "/api/retail/prices") return void response.writeHead(404).end();
      const filter = url.searchParams.get("$filter") ?? "";
      const { Items, more } = azureItems(filter, url.searchParams.get("$skip"));
      url.searchParams.set("$skip", "1000");
      response.end(JSON.stringify({ BillingCurrency: "USD", Items, NextPageLink: more ? String(url) : null, Count: Items.length }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    base = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it("takes list prices on demand for the sizes of the stacks, and leaves out what the lists do not have", async () => {
    const kept = { date: "2026-01-01", source: "by hand", machineHour: {} };
    const said: string[] = [];
    const found = await refreshed(
      { currency: "USD", regions: { "aws/eu-west-1": kept, "azure/westeurope": { ...kept, addressHour: 9 } } },
      specs,
      { aws: base, azure: base },
      "2026-11-22",
      { err: (text) => void said.push(text) },
    );
    assert.deepEqual(found.regions, {
      "aws/eu-west-1": kept,
      "aws/eu-central-1": {
        date: "2026-11-22",
        source: "AWS Price List Bulk API",
        machineHour: { "m7i.large": 0.12 },
        windowsVcpuHour: 0.046,
        diskGibMonth: 0.0952,
        natHour: 0.052,
        balancerHour: 0.027,
        addressHour: 0.005,
        keyMonth: 1,
      },
      "azure/westeurope": {
        date: "2026-11-22",
        source: "Azure Retail Prices API",
        machineHour: { Standard_D2s_v5: 0.115 },
        windowsVcpuHour: 0.046,
        diskMonth: { "128": 21.68 },
        natHour: 0.045,
        balancerHour: 0.025,
      },
    });
    assert.deepEqual(said, ["aws/eu-central-1: 1 sizes\n", "azure/westeurope: 1 sizes\n"]);
  });

  it("says which prices cannot be had", async () => {
    const nowhere = { aws: `${base}/none`, azure: `${base}/none` };
    const asked = refreshed({ currency: "USD", regions: {} }, specs, nowhere, "2026-11-22", { err: () => undefined });
    await assert.rejects(asked, /^UsageError: the prices of aws\/eu-central-1 cannot be had: .*HTTP 404$/);
  });
});
