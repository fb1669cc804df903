import json

from calls import ADDRESS, CSV, TOKEN, call
from openapi_client import ApiClient, ApiException, Configuration, NewPlant, PlantReplacement, PlantsApi

api = PlantsApi(ApiClient(Configuration(host=ADDRESS, access_token=TOKEN)))


def create(id, name, tag, only_new):
    try:
        answer = api.create_plant_with_http_info(
            NewPlant(id=id, name=name, tag=tag), if_none_match="*" if only_new else None
        )
        return answer.status_code, 0
    except ApiException as refusal:
        return refusal.status, json.loads(refusal.body)["error"]


def read(id):
    plant = api.get_plant(id)
    return plant.id, plant.name, plant.tag


def replace(id, name):
    plant = api.replace_plant(id, PlantReplacement(name=name))
    return plant.id, plant.name


def load(_):
    # The client sends NDJSON as one JSON text, and CSV as it is.
    report = api.import_plants(CSV, _content_type="text/csv")
    return report.added, report.unchanged, report.refused


call(
    create,
    read,
    lambda: [plant.id for plant in api.list_plants()],
    replace,
    # export_plants reads the lines as one JSON text.
    lambda: api.export_plants_without_preload_content().data.decode(),
    load,
)
