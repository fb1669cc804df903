from calls import ADDRESS, TOKEN, call
from plantstore_client import AuthenticatedClient
from plantstore_client.api.plants import create_plant, export_plants, get_plant, list_plants, replace_plant
from plantstore_client.models import Error, NewPlant, PlantReplacement

client = AuthenticatedClient(base_url=ADDRESS, token=TOKEN)


def create(id, name, tag, only_new):
    more = {"if_none_match": "*"} if only_new else {}
    answer = create_plant.sync_detailed(client=client, body=NewPlant(id=id, name=name, tag=tag), **more)
    return int(answer.status_code), answer.parsed.error if isinstance(answer.parsed, Error) else 0


def read(id):
    plant = get_plant.sync(client=client, id=id)
    return plant.id, plant.name, plant.tag


def replace(id, name):
    plant = replace_plant.sync(client=client, id=id, body=PlantReplacement(name=name))
    return plant.id, plant.name


def export():
    return export_plants.sync_detailed(client=client).content.decode()


def load(_):
    raise NotImplementedError("the client has no importPlants")


call(create, read, lambda: [plant.id for plant in list_plants.sync(client=client)], replace, export, load)
