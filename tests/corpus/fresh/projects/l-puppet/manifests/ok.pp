# @summary ok
class web::ok {
}
