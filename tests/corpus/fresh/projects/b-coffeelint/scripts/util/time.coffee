class clock_face
  now: -> new Date()   
module.exports = clock_face
