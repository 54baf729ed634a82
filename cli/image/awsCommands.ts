/** What to do with the files on AWS. */
export const awsCommands = [
  "Packer (rights: those that its documentation lists for amazon-ebs), in a subnet with a way out:",
  "",
  "    packer init . && packer build -var subnet_id=subnet-... .",
  "",
  "EC2 Image Builder (rights: EC2InstanceProfileForImageBuilder and s3:GetObject for the machine; imagebuilder:* and iam:PassRole for you):",
  "",
  "    aws s3 cp bake.ps1 s3://BUCKET/bake.ps1",
  "    aws imagebuilder create-component --name fenestra-POOL --semantic-version ... --platform Windows --data file://component.yaml",
  "",
  "Its recipe begins with BASE, has a volume of DISK GiB and gives the component its Source, after updates of Windows. Its images stay until a",
  "lifecycle policy deletes them.",
  "",
  "Costs: about 0.10 USD for half an hour, 1 to 1.50 USD a month for the snapshot. An image is for one region and account.",
];
