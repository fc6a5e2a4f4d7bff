module.exports = (robot) ->
	robot.hear /deploy/, (res) ->
    res.send 'deploying to the production environment now, please do not push anything until this is done';
