"""Price files as SkyPilot's catalog has them: cut down, with the columns and the spellings of several clouds."""

NEBIUS = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
cpu-d3_4vcpu-16gb,,0,4,16,0.0992,eu-north1,,
gpu-h100-sxm_1gpu-16vcpu-200gb,H100,1,16,200,2.95,eu-north1,"{'Gpus': [{'Name': 'H100', 'Manufacturer': 'NVIDIA', \
'Count': 1, 'MemoryInfo': {'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 81920}",1.25
gpu-h200-sxm_8gpu-128vcpu-1600gb,H200,8,128,1600,28.00,eu-north1,"{'Gpus': [{'Name': 'H200', 'Manufacturer': \
'NVIDIA', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 144384}}], 'TotalGpuMemoryInMiB': 1155072}",11.60
gpu-l40s-a_1gpu-8vcpu-32gb,L40S,1,8,32,1.5484,eu-north1,"{'Gpus': [{'Name': 'L40S', 'Count': 1, 'MemoryInfo': \
{'SizeInMiB': 49152}}], 'TotalGpuMemoryInMiB': 49152}",
gpu-h200-sxm_8gpu-128vcpu-1600gb,H200,8,128,1600,28.00,us-central1,"{'Gpus': [{'Name': 'H200', 'Count': 8, \
'MemoryInfo': {'SizeInMiB': 144384}}], 'TotalGpuMemoryInMiB': 1155072}",11.60
gpu-b200-sxm_8gpu-160vcpu-1792gb,B200,8,160,1792,44.00,us-central1,"{'Gpus': [{'Name': 'B200', 'Count': 8, \
'MemoryInfo': {'SizeInMiB': 184320}}], 'TotalGpuMemoryInMiB': 1474560}",
"""
VERDA = """\
InstanceType,UpstreamCloudId,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,Price,SpotPrice
1B300.30V,1B300.30V,30.0,275.0,B300,1.0,"{""Gpus"": [{""Name"": ""B300"", ""Count"": 1, ""MemoryInfo"": \
{""SizeInMiB"": 268288}}], ""TotalGpuMemoryInMiB"": 268288}",FIN-03,6.99,2.447
2B200.60V,2B200.60V,60.0,368.0,B200,2.0,"{""Gpus"": [{""Name"": ""B200"", ""Count"": 2, ""MemoryInfo"": \
{""SizeInMiB"": 184320}}], ""TotalGpuMemoryInMiB"": 368640}",FIN-03,,3.423
CPU.4V.16G,CPU.4V.16G,4.0,16.0,,,,FIN-01,0.0279,0.0098
"""
RUNPOD = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,SpotPrice,Price,AvailabilityZone,GpuInfo
1x_H100_SECURE,H100,1.0,16.0,188.0,CA,1.25,2.39,CA-MTL-1,"{'Gpus': [{'Name': 'H100 PCIe', 'Manufacturer': 'Nvidia', \
'Count': 1, 'MemoryInfo': {'SizeInMiB': 80}}], 'TotalGpuMemoryInMiB': 80}"
8x_H100-SXM_SECURE,H100-SXM,8.0,160.0,1000.0,US,14.0,21.52,US-CA-1,"{'Gpus': [{'Name': 'H100 SXM', 'Manufacturer': \
'Nvidia', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 80}}], 'TotalGpuMemoryInMiB': 640}"
1x_H200-SXM_SECURE,H200-SXM,1.0,16.0,251.0,US,2.29,3.59,US-CA-1,"{'Gpus': [{'Name': 'H200 SXM', 'Manufacturer': \
'Nvidia', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 141}}], 'TotalGpuMemoryInMiB': 141}"
1x_H200-SXM_SECURE,H200-SXM,1.0,16.0,251.0,US,2.19,3.59,US-TX-3,"{'Gpus': [{'Name': 'H200 SXM', 'Manufacturer': \
'Nvidia', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 141}}], 'TotalGpuMemoryInMiB': 141}"
"""
HEADER = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice\n"
REGIONS = HEADER + (
    "p5en.48xlarge,H200,8.0,192.0,2048.0,63.296,us-east-1,,25.1\n"
    "p5en.48xlarge,H200,8.0,192.0,2048.0,71.2,eu-west-2,,30.4\n"
    "p5en.4xlarge,H200,1.0,16.0,256.0,9.5,us-east-1,,4.0\n"
)
SLURM = """\
Region,Zone,PricePerVCPU,PricePerMemoryGB,AcceleratorName,PricePerAccelerator
ours,gpu,0.01,0.001,H200,1.9
ours,gpu,0.0,0.0,B200,2.7
,,0.02,0.002,,
"""
